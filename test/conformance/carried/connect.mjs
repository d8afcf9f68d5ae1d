/*
 * A stand-in for `bin/cai`, by which the conformance suite is played against `cai connect` and `cai serve`: started as
 * `cai --acp NAME`, it starts a server of NAME, and is `cai connect` from then on. It trusts that server, whose own
 * checks are what is tried.
 */
import { become, serve, servedAgent } from './serve.mjs';

const agent = servedAgent();
if (agent === undefined) {
  await become(...process.argv.slice(2));
} else {
  const { server, address } = serve(agent);
  const url = await address;
  // This process would wait for its server, and has to end by itself.
  for (const each of [server, server.stdin, server.stdout]) each.unref();
  process.on('exit', () => server.stdin.write('end'));
  await become('connect', '--trust-server', url);
}
