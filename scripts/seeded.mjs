// fast-check for tests, with the seed that setup.ts has chosen. Few of them need it, and loading it takes 0.05 s.
import * as fc from 'fast-check';

const seed = process.env['FC_SEED'];
if (seed !== undefined) fc.configureGlobal({ seed: Number(seed) });
export * from 'fast-check';
