/*
 * The server of the benchmark's network: `server.mjs ADDRESS KEY CERTIFICATE`, of which it says the port. A path is a
 * number, and the answer has that many bytes. It ends with its stdin.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { Readable, pipeline } from 'node:stream';

const [address, key, cert] = process.argv.slice(2);
const piece = Buffer.alloc(64 * 1024, 'x');

function* body(bytes) {
  for (let left = bytes; left > 0; left -= piece.length) yield piece.subarray(0, left);
}

const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
  const bytes = Number(request.url.slice(1));
  response.setHeader('Content-Length', bytes);
  pipeline(Readable.from(body(bytes)), response, () => undefined);
});
server.listen(0, address, () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume().on('end', () => process.exit());
