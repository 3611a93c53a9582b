// The baseline: bare node:http that sends one recorded response to every request, without any logic.
// BENCH_RESPONSE: {"status","headers","body"} in JSON, headers as name, value, name, value.
import { createServer } from 'node:http';

const { status, headers, body } = JSON.parse(process.env.BENCH_RESPONSE);
const bytes = Buffer.from(body);
const keepAliveTimeout = 65_000; // as in our server, because the header Keep-Alive shows it
const server = createServer({ keepAliveTimeout }, (request, response) => {
  const respond = () => {
    response.writeHead(status, headers);
    response.end(bytes);
  };
  if (request.method === 'POST') request.resume().on('end', respond);
  else respond();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/v1`));
process.on('SIGTERM', () => process.exit(0));
