/** `cai serve link`: a link that signs a browser in, asked of the server that runs. */
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { serveSocket } from '../../config/serve-places';
import { CaiError, messageOf, errorCodeOf } from '../../errors';
import { Tokens } from '../../served/server/door';
import type { Host } from '../../system/host';
import { declare } from '../support/command';
import { tell } from '../support/terminal';
import { codeFor, qrCode } from './qr-code';

interface Options {
  readonly user?: string;
  readonly qr?: true;
}

const timeoutMs = 10_000;

/** Writes the link to stdout, all else to stderr; rejects with `NO_SERVER` when none of this user runs. */
export const run = declare<Options>({
  name: 'serve link',
  description: `Prints a link that signs a browser in to the page of the "cai serve" that runs. It works once, and for five minutes.`,
  options: [
    ['-u, --user <name>', 'for somebody of [[serve.users]] who has a token (default: for you)'],
    ['--qr', 'with a QR code, also where nobody sees a terminal'],
  ],
  action: async ({ user, qr }, host) => {
    const link = await askFor(user, host);
    process.stdout.write(`${link}\n`);
    if (qr === true) process.stderr.write(qrCode(link));
    else if (process.stderr.isTTY) process.stderr.write(codeFor(link));
    tell('whoever opens it first is signed in: it works once, and for five minutes');
    return 0;
  },
});

async function askFor(user: string | undefined, host: Host): Promise<string> {
  const socketPath = serveSocket(host);
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${new Tokens(host).ownerToken()}`,
  };
  const asked = request({ socketPath, path: '/page/tickets', method: 'POST', headers, timeout: timeoutMs });
  asked.once('timeout', () => asked.destroy(new Error(`no answer in ${timeoutMs / 1_000} s`)));
  asked.end(JSON.stringify(user === undefined ? {} : { user }));
  const { status, body } = await answerTo(asked).catch((reason: unknown) => {
    throw noServer(socketPath, reason);
  });
  if (status !== 200) throw new CaiError('NO_SERVER', `the server makes no link: ${body.trim()}`);
  return (JSON.parse(body) as { readonly link: string }).link;
}

async function answerTo(asked: ClientRequest) {
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, body: await text(answer) };
}

function noServer(socketPath: string, reason: unknown): CaiError {
  const code = errorCodeOf(reason);
  const isAbsent = code === 'ENOENT' || code === 'ECONNREFUSED';
  return new CaiError(
    'NO_SERVER',
    isAbsent
      ? `no "cai serve" of yours listens on ${socketPath}: start one`
      : `the server at ${socketPath} cannot be used: ${messageOf(reason)}`,
  );
}
