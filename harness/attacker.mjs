/**
 * Attacks a server without a key: opens connections and sends the same piece on each, with `repeats` over and over. It
 * reads nothing unless `reads`.
 * Prints `opened` when every connection has been accepted or closed. Runs until it is killed.
 */
import { connect } from 'node:net';
import { setPriority } from 'node:os';
import { connect as connectTls } from 'node:tls';

const { port, isTls, connections, text, repeat, reads, repeats, priority } = JSON.parse(process.argv[2]);
setPriority(priority);
const piece = Buffer.from(text.repeat(repeat), 'latin1');
/** More at a time would overflow the queue of the kernel, which delays a connection by seconds. */
const maxAtOnce = 500;
let begun = 0;
let opening = 0;

function openMore() {
  while (opening < maxAtOnce && begun < connections) {
    begun += 1;
    opening += 1;
    open();
  }
  if (opening === 0) process.stdout.write('opened\n');
}

function open() {
  let isOpening = true;
  const opened = () => {
    if (!isOpening) return;
    isOpening = false;
    opening -= 1;
    setImmediate(openMore);
  };
  const tcp = connect({ port, host: '127.0.0.1', noDelay: true }, opened);
  const socket = isTls ? connectTls({ socket: tcp, rejectUnauthorized: false }) : tcp;
  socket.on('error', () => {}); // the server may destroy it
  tcp.on('close', opened);
  socket.write(piece);
  if (repeats) socket.on('drain', () => socket.write(piece));
  if (reads) socket.resume();
  else socket.pause();
}

openMore();
