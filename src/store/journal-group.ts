import type { StoredPet } from '../domain/pet.ts';

/** The records that are written and synced together. One promise for all: what lives until the disk has answered is what garbage collections copy. */
export class JournalGroup {
  /** None to learn only whether the disk takes writes. */
  readonly pets: StoredPet[] = [];
  resolve!: () => void;
  reject!: (error: unknown) => void;
  /** Settled once the disk has answered. */
  readonly written = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}
