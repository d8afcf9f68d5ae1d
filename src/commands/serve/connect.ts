/** `cai connect`: an agent on a server, for an editor that starts it as a program: stdin and stdout carry ACP alone. */
import { accessTo, readAddress, EditorConnection, Guard } from '../../served/client';
import { loadConfig } from '../../config/config';
import { ownTokenFile } from '../../config/serve-places';
import { CaiError } from '../../errors';
import { SignIn } from '../../acp';
import { proxyToServer } from '../../network';
import { openLog } from '../../system/log';
import { declare } from '../support/command';
import { endSignals } from '../support/end-signals';

interface Options {
  readonly agent?: string;
  readonly tokenFile?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
  readonly trustServer?: true;
}

/** Resolves with the exit status when the editor is gone; rejects with `NO_SERVER` when the server cannot be used. */
export const run = declare<Options>({
  name: 'connect',
  description: `For an editor to start instead of "cai --acp": connects it to "cai serve", or to any server that speaks ACP over
WebSocket, or in lines. If the connection breaks, it is made again, and over a WebSocket goes on where it was.`,
  arguments: [
    [
      '[url]',
      'wss://, https://, ws:// or http:// with the path, if it is not /acp; tls://HOST:PORT or tcp://HOST:PORT; unix:PATH (default: the socket of "cai serve" on this machine)',
    ],
  ],
  options: [
    ['-a, --agent <name>', 'the agent (default: the first that the server has)'],
    ['--token-file <file>', 'a file with the token for the server'],
    ['--client-cert <file>', 'a certificate for the server, PEM'],
    ['--client-key <file>', 'its key, PEM'],
    [
      '--trust-server',
      'let the server use this machine through the editor: its files and terminals, commands to sign in, and methods that act',
    ],
  ],
  footer: `
Environment:
  CAI_CONNECT_TOKEN=TOKEN      the token, without --token-file
To a server on 127.0.0.1, the token of this user's own server is sent if none is given. Without TLS, a token goes only to
a program of this user or of root there (Linux), or to a socket of theirs. Certificates are checked by the usual authorities and
"network.ca_file" of the configuration. The way to another machine leads through "network.https_proxy", else HTTPS_PROXY.`,
  action: async ({ agent, tokenFile, clientCert, clientKey, trustServer }, host, [url]) => {
    const config = loadConfig(host);
    const address = readAddress(url, agent, host);
    const access = accessTo(address, {
      tokenFile,
      token: host.env.CAI_CONNECT_TOKEN,
      ownTokenFile: ownTokenFile(host),
      caFile: config.network.caFile,
      certFile: clientCert,
      keyFile: clientKey,
      uid: host.user.uid,
      proxyTo: (url) => proxyToServer(config.network, host.env, url),
    });
    if (host.isOnTerminal)
      throw new CaiError(
        'USAGE',
        'this is for an editor to start, not for a terminal: put it into the settings of your editor',
      );
    // Other commands end at once when nobody reads what they print; here the server is told.
    process.stdout.removeAllListeners('error');
    const { stdin, stdout } = process;
    const log = openLog(host.env);
    // A sign-in without an agent offers no command.
    const signIn = new SignIn({ agent: undefined, host, log });
    const place = { root: undefined, editorCapabilities: {} };
    const guard = trustServer === true ? undefined : new Guard((answer) => signIn.edits(answer, place));
    const connection = new EditorConnection(stdin, stdout, {
      address,
      access,
      guard,
      limits: config.acp,
      log,
    });
    for (const signal of endSignals) process.on(signal, () => connection.end());
    process.on('uncaughtException', (error) =>
      connection.fail('internal error: the connection is ended', error),
    );
    return await connection.run();
  },
});
