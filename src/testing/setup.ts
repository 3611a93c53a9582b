/** Loaded before each test file: property-based tests run with a fixed seed, or with that of FC_SEED. */
import * as fc from 'fast-check';

fc.configureGlobal({ seed: Number(process.env['FC_SEED'] ?? 20261121) });
