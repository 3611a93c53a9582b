/** What `petstore status` shows of the files, with times as RFC 3339; null until they have been read. */
export interface FileDetails {
  readonly journal: {
    readonly bytes: number;
    readonly lastSyncAt: string;
    readonly lastSyncMs: number;
    readonly failures: number;
  } | null;
  readonly snapshot: {
    readonly bytes: number;
    readonly writtenAt: string | null;
    readonly failures: number;
  } | null;
}
