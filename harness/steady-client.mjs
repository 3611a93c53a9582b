/**
 * A client with a valid key and one connection, which sends a request as soon as it has the response to the last one.
 * It reads commands from stdin, one in each line: `begin` begins to send; `end N` ends that after N more responses and
 * prints the result as one line of JSON.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { connect as connectTls } from 'node:tls';

const { port, isTls, secret, animals } = JSON.parse(process.argv[2]);
const tcp = connect({ port, host: '127.0.0.1', noDelay: true });
const socket = (isTls ? connectTls({ socket: tcp, rejectUnauthorized: false }) : tcp).setEncoding('latin1');
await once(socket, isTls ? 'secureConnect' : 'connect');
socket.on('error', ({ message }) => fail(message));
socket.on('close', () => fail('the server has closed the connection'));

let sent = 0;
let sentAt = 0;
let received = '';
let remaining = Infinity;
let times = [];

function send() {
  sentAt = performance.now();
  socket.write(`GET /v1/pets/${1 + (sent++ % animals)} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
}

socket.on('data', (text) => {
  received += text;
  const end = received.indexOf('\r\n\r\n') + 4;
  if (end < 4 || received.length < end + Number(/content-length: (\d+)/i.exec(received)?.[1])) return;
  if (!received.startsWith('HTTP/1.1 200 ')) return fail(received);
  times.push(performance.now() - sentAt);
  received = '';
  if (remaining-- > 1) return send();
  const sorted = times.sort((one, other) => one - other);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  const result = { responses: sorted.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  process.stdout.write(`${JSON.stringify(result)}\n`);
});

function fail(why) {
  process.stderr.write(`a request of the client with a key failed: ${why}\n`);
  process.exit(1);
}

process.stdout.write('connected\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [command, count] = line.split(' ');
  if (command === 'end') remaining = Number(count);
  else {
    remaining = Infinity;
    times = [];
    send();
  }
}
