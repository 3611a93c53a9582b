/** The tests of requests, with an engine whose values must all be waited for. */
import { makeEnginesLate } from './testing/service.ts';

makeEnginesLate();
await import('./operations/service.test.ts');
await import('./decisions.test.ts');
await import('./cross-origin.test.ts');
await import('./operations/pets.test.ts');
await import('./operations/orders.test.ts');
await import('./operations/openapi.test.ts');
await import('./limits.test.ts');
await import('./bans.test.ts');
