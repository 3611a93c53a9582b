/** What clients receive over TLS is the same, byte for byte. */
import { makeCertificate } from '../../harness/certificates.ts';
import { testGroups } from '../testing/transcript/compare.ts';

// Over TLS a write is never complete at once, so all requests wait at the same time, and take too much memory.
testGroups(makeCertificate(), ['120 pipelined requests']);
