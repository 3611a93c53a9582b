/** What clients receive over TCP, byte for byte. */
import { testGroups } from '../testing/transcript/compare.ts';

testGroups();
