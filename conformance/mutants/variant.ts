/** What a conforming variant of the small server is: see variants.ts. */
import type { Hooks } from './server/hooks.ts';

/** A conforming server. */
export interface Variant {
  readonly id: string;
  /** How it fills the gaps. */
  readonly text: string;
  readonly hooks: Partial<Hooks>;
}
