// The floor: bare node:http that answers what it is told to, with no logic at all. FLOOR_ANSWER: {"status","headers","body"} in
// JSON, headers as Node has them raw: name, value, name, value.
import { createServer } from 'node:http';

const { status, headers, body } = JSON.parse(process.env.FLOOR_ANSWER);
const bytes = Buffer.from(body);
const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => { // our server's: it stands in Keep-Alive
  const answer = () => {
    response.writeHead(status, headers);
    response.end(bytes);
  };
  if (request.method === 'POST') request.resume().on('end', answer);
  else answer();
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}/v1`));
process.on('SIGTERM', () => process.exit(0));
