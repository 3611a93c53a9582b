// Loaded into our own server by --import: nothing waits for the disk any more. So one sees what durability costs.
import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

fs.fdatasync = fs.fsync = (descriptor, done) => process.nextTick(done, null);
fs.fdatasyncSync = fs.fsyncSync = () => {};
syncBuiltinESMExports();

const handle = await open(import.meta.filename ?? process.execPath); // any file: its class is what is wanted
const fileHandle = Object.getPrototypeOf(handle);
fileHandle.sync = fileHandle.datasync = () => Promise.resolve();
await handle.close();
