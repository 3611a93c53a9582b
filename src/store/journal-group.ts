/** The records that are written and synced together. One promise for all: what lives until the disk has answered is what garbage collections copy. */
export class JournalGroup {
  /** The animals' lines; none to learn only whether the disk takes writes. */
  readonly pets: string[] = [];
  resolve!: () => void;
  reject!: (error: unknown) => void;
  /** Settled once the disk has answered. */
  readonly written = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}
