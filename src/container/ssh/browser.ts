/**
 * The browser of this machine for a command in a container that signs in: what it gives to the program that `BROWSER`
 * names comes out here. Any process in the container can do that: a page of any host would be a way out for what it knows,
 * or into this machine's network. So only pages of the agent's own sign-in are opened, and few.
 */
import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { removeInside, runToEnd } from './short-command';
import type { SshConnection } from './ssh';

/** Longer ones are no addresses of sign-ins, in bytes. */
const maxBytes = 8_192;
/** How many pages one command may open. */
const maxPages = 3;

/** Writes itself where its second argument says, as a program that sends its own argument to a socket. */
const install = `
my ($text, $path) = @ARGV;
umask 0077;
open my $file, '>', $path or exit 1;
print $file $text;
close $file or exit 1;
chmod 0700, $path or exit 1;
`;

/** Opens pages here for one command. */
export class ContainerBrowser {
  /** What the command finds in the variable `BROWSER`. */
  readonly program = `/tmp/cai-browser-${randomBytes(16).toString('hex')}`;
  #pages = 0;

  /** `show` opens a page of one of the hosts. */
  constructor(
    private readonly hosts: readonly string[],
    private readonly show: (address: string) => void,
  ) {}

  /** Begins to listen, and puts the program into the container; returns what ends that. Rejects with `SSH_CONNECT`. */
  async open(connection: Pick<SshConnection, 'listen' | 'run'>): Promise<{ close(): Promise<void> }> {
    const socket = `${this.program}.socket`;
    await connection.listen(socket, (stream) => this.#take(stream));
    const text = `#!/usr/bin/perl
use IO::Socket::UNIX;
my $socket = IO::Socket::UNIX->new('${socket}') or exit 1;
print $socket "$ARGV[0]\\n";
`;
    // Where that fails, the command says itself that it has found no browser.
    await runToEnd(connection, ['perl', '-e', install, text, this.program]);
    return { close: () => removeInside(connection, this.program, socket) };
  }

  #take(stream: Duplex): void {
    let text = '';
    stream.setEncoding('latin1');
    stream.on('data', (chunk: string) => {
      text += chunk;
      if (text.length > maxBytes) stream.destroy();
    });
    stream.on('error', () => undefined);
    stream.on('end', () => {
      stream.end();
      const address = pageOf(text.trim(), this.hosts);
      if (address === undefined || this.#pages >= maxPages) return;
      this.#pages++;
      this.show(address);
    });
  }
}

/** The address of a page of one of these hosts, in a form that has only characters of addresses. */
export function pageOf(text: string, hosts: readonly string[]): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, username, password, href } = new URL(text);
  const isPlain = protocol === 'https:' && username === '' && password === '';
  return isPlain && hosts.includes(host) ? href : undefined;
}
