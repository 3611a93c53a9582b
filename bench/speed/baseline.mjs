// The baseline: bare node:http that sends recorded responses without any logic. BENCH_RESPONSES is a file of them in
// JSON: [{"method","path","status","headers","body"}], headers as name, value, name, value. The responses to the same
// method and path are sent in turn. A request that was not recorded gets the first response.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const recorded = new Map();
for (const { method, path, body, ...head } of JSON.parse(readFileSync(process.env.BENCH_RESPONSES, 'utf8'))) {
  const responses = recorded.get(method + path) ?? [];
  recorded.set(method + path, [...responses, { ...head, bytes: Buffer.from(body) }]);
}
const [first] = recorded.values();
let next = 0;
const keepAliveTimeout = 65_000; // as in our server, because the header Keep-Alive shows it
const server = createServer({ keepAliveTimeout }, (request, response) => {
  const responses = recorded.get(request.method + request.url) ?? first;
  const { status, headers, bytes } = responses[next++ % responses.length];
  const respond = () => {
    response.writeHead(status, headers);
    response.end(bytes); // as nearly every handler does
  };
  if (request.method === 'POST') request.resume().on('end', respond);
  else respond();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/v1`));
process.on('SIGTERM', () => process.exit(0));
