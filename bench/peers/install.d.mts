/** For the type check, which knows nothing of plain JavaScript: see install.mjs. */
export function installPeers(): string | null;
export function arePeersInstalled(): boolean;
