/** `cai serve`: agents for clients elsewhere. `cai serve token` and `cai serve link` are in other files. */
import { Option } from 'commander';
import { chatPort, servePort } from '../../config/serve-places';
import type { Host } from '../../system/host';
import { declare, several } from '../support/command';
import type { ServeOptions } from './run-server';

const server = declare<ServeOptions>({
  name: 'serve',
  description: `Offers agents to clients elsewhere, by ACP's transport for WebSocket and HTTP, which is a draft. It also
listens at a socket that only you can open.`,
  options: [
    new Option(
      '-l, --listen <address>',
      `HOST:PORT, https://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:PATH; may be repeated (default: "serve.listen", else 127.0.0.1:${servePort}, with --chat 127.0.0.1:${chatPort})`,
    ).argParser(several),
    new Option(
      '-a, --agent <name>',
      'an agent that is served, the first for clients that name none; may be repeated (default: "serve.agents", else "agent.default" in the configuration)',
    ).argParser(several),
    ['--tls-cert <file>', 'certificate in PEM (default: "serve.tls_cert")'],
    ['--tls-key <file>', 'its key (default: "serve.tls_key")'],
    [
      '--client-ca <file>',
      'certificates of clients that this authority has signed count (default: "serve.client_ca")',
    ],
    ['--behind-proxy', 'a proxy of yours that speaks TLS stands before an address that others can reach'],
    ['--chat <folder>', 'answer chat panels that know no ACP, too; their sessions are in this folder'],
  ],
  footer: `
Commands:
  cai serve link                    a link that signs a browser in to the page
  cai serve token add|list|revoke   who else may come in
`,
  action: async (options, host) => await (await import('./run-server')).serve(options, host),
});

export const run = Object.assign(choose, {
  declaration: { ...server.declaration, arguments: [['[command]', '', ['link', 'token']]] as const },
});

async function choose(args: readonly string[], host: Host): Promise<number> {
  if (args[0] === 'token') return await (await import('./token')).run(args.slice(1), host);
  if (args[0] === 'link') return await (await import('./link')).run(args.slice(1), host);
  return await server(args, host);
}
