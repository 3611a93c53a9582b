// json-server 0.17, its stable version: what `npm install json-server` gives, and what the README of the 1.0 beta names as
// such. After its README, "Module". The router stands alone: the middlewares of jsonServer.defaults() would compress, log,
// allow CORS and look for a static file at each request, none of which we do; without them it is faster.
//
// What it cannot do is told in ../speed/peers.ts. A page is `/pets?_limit=20` (or `?_page=1&_limit=20`, with Links, which costs it a
// look at every animal). A create rewrites the whole file.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import jsonServer from 'json-server';
import { announce, basePath, closeServer, firstPets, folder } from './contract.mjs';

const file = join(folder, 'db.json');
if (!existsSync(file)) writeFileSync(file, JSON.stringify({ pets: [...firstPets()] }));

const app = jsonServer.create();
app.use(basePath, jsonServer.router(file));

const server = app.listen(0, '127.0.0.1', () => announce(server.address().port, () => closeServer(server)));
