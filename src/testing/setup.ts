/** Loaded before each test file. Sets the seed of property-based tests: FC_SEED, or a fixed one. */
import * as fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['FC_SEED'] ?? 20261121) });
