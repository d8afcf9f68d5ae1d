/** `cai connect`: an agent on a server, for an editor that starts it as a program: stdin and stdout carry ACP alone. */
import { accessTo } from '../../connect/access';
import { readAddress } from '../../connect/address';
import { Bridge } from '../../connect/bridge';
import { loadConfig } from '../../config/config';
import { ownTokenFile } from '../../config/serve-places';
import { CaiError, messageOf } from '../../errors';
import { LineReader } from '../../rpc/line';
import { LineWriter } from '../../rpc/writer';
import { openLog, type Log } from '../../system/log';
import { within } from '../../system/time-limit';
import { declare } from '../support/command';
import { endSignals } from '../support/end-signals';

interface Options {
  readonly agent?: string;
  readonly tokenFile?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
}

/** How much of the editor's input may wait in memory before it is no longer read, in bytes. */
const maxWaitingBytes = 1024 * 1024;
/** When the editor is gone: how long what it has sent may take to reach the server, and its answers to come. In milliseconds. */
const flushMs = 5_000;
const dueMs = 2_000;
/** How long the editor may take no byte of what is still due at the end, in milliseconds. */
const stallMs = 5_000;
/** How long a request is waited for that can be answered with why there is no server, in milliseconds. */
const firstLineMs = 5_000;

/** Resolves with the exit status when the editor is gone; rejects with `NO_SERVER` when the server cannot be used. */
export const run = declare<Options>({
  name: 'connect',
  description: `For an editor to start instead of "cai --acp": connects it to "cai serve", or to any server that speaks ACP over
WebSocket. If the connection breaks, it is made again, and goes on where it was.`,
  arguments: [
    [
      '[url]',
      'wss://, https://, ws:// or http:// with the path, if it is not /acp; unix:PATH (default: the socket of "cai serve" on this machine)',
    ],
  ],
  options: [
    ['-a, --agent <name>', 'the agent (default: the first that the server has)'],
    ['--token-file <file>', 'a file with the token for the server'],
    ['--client-cert <file>', 'a certificate for the server, PEM'],
    ['--client-key <file>', 'its key, PEM'],
  ],
  footer: `
Environment:
  CAI_CONNECT_TOKEN=TOKEN      the token, without --token-file
To a server on 127.0.0.1, the token of this user's own server is sent if none is given. Certificates are checked by
the usual authorities and "network.ca_file" of the configuration.`,
  action: async ({ agent, tokenFile, clientCert, clientKey }, host, [url]) => {
    const config = loadConfig(host);
    const address = readAddress(url, agent, host);
    const access = accessTo(address, {
      tokenFile,
      token: host.env.CAI_CONNECT_TOKEN,
      ownTokenFile: ownTokenFile(host),
      caFile: config.network.caFile,
      certFile: clientCert,
      keyFile: clientKey,
    });
    if (host.isOnTerminal)
      throw new CaiError(
        'USAGE',
        'this is for an editor to start, not for a terminal: put it into the settings of your editor',
      );
    // Other commands end at once when nobody reads what they print; here the server is told.
    process.stdout.removeAllListeners('error');
    return await new Connection(config.acp, openLog(host.env), { address, access }).run();
  },
});

/** One editor, for as long as it is there. */
class Connection {
  readonly #reader: LineReader;
  readonly #writer: LineWriter;
  readonly #bridge: Bridge;
  #resolve: (status: number) => void = () => undefined;
  #reject: (reason: CaiError) => void = () => undefined;
  #hurry: () => void = () => undefined;
  readonly #hurried = new Promise<void>((resolve) => (this.#hurry = resolve));
  /** Called when something was read, and nothing waits. */
  #onRead: () => void = () => undefined;
  #hasRead = false;
  #status = 0;
  #isInputOver = false;
  #isEnding = false;

  constructor(
    limits: ReturnType<typeof loadConfig>['acp'],
    private readonly log: Log,
    server: Pick<ConstructorParameters<typeof Bridge>[0], 'address' | 'access'>,
  ) {
    this.#reader = new LineReader({
      maxLineBytes: limits.maxLineFromEditorBytes,
      maxSearchBytes: Infinity,
    });
    this.#writer = new LineWriter(process.stdout, limits.queueToEditorBytes, (reason) => {
      log.info({ reason: reason.message }, 'the editor does not read any more');
      this.#endHastily();
    });
    this.#bridge = new Bridge({
      ...server,
      log,
      maxLineBytes: limits.maxLineToEditorBytes,
      maxUnprovenBytes: limits.queueToAgentBytes,
      lane: this.#writer.lane(() => this.#bridge.remote.setPaused(false)),
      onRoom: () => this.#pull(),
      onGivenUp: (reason) => void this.#giveUp(reason),
    });
  }

  /** Resolves with the exit status when the editor is gone; rejects with why there is no server. */
  run(): Promise<number> {
    const { stdin } = process;
    stdin.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk);
      this.#bridge.remote.wake();
      this.#pull();
    });
    stdin.on('end', () => {
      this.#reader.end();
      this.#isInputOver = true;
      this.#pull();
      void this.#end();
    });
    stdin.on('error', (reason) => this.#fail('the editor cannot be read any more', reason));
    for (const signal of endSignals) process.on(signal, () => this.#endHastily());
    process.on('uncaughtException', (error) => this.#fail('internal error: the connection is ended', error));
    this.#bridge.remote.start();
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Takes the lines that have come, as long as they are taken. */
  #pull(): void {
    let line: ReturnType<LineReader['next']>;
    while (this.#bridge.canTake && (line = this.#reader.next()) !== undefined) {
      this.#bridge.fromEditor(line);
      this.#hasRead = true;
    }
    const { canTake } = this.#bridge;
    if (canTake && (this.#isInputOver || this.#hasRead)) this.#onRead();
    // Some bytes are read all the same, so that the end of the editor is noticed.
    if (!canTake && this.#reader.waitingBytes > maxWaitingBytes) process.stdin.pause();
    else process.stdin.resume();
  }

  #fail(what: string, reason: unknown): void {
    this.log.error({ reason: messageOf(reason) }, what);
    this.#status = 1;
    this.#endHastily();
  }

  /** Ends without waiting for the server, also if that wait has begun. */
  #endHastily(): void {
    this.#hurry();
    void this.#end();
  }

  async #end(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const hasRead = this.#whenRead();
    await Promise.race([this.#hurried, within(flushMs, this.#flush(hasRead))]);
    await Promise.race([this.#hurried, within(dueMs, this.#bridge.whenIdle())]);
    await this.#bridge.remote.close();
    const error = new CaiError('NO_SERVER', 'the connection is ending');
    this.#bridge.fail({ code: error.rpcCode, message: error.message });
    this.#pull();
    await this.#writer.drain(stallMs);
    this.#resolve(this.#status);
  }

  /** Resolves when all that has come was read, and that is not nothing, unless nothing can come. */
  #whenRead(): Promise<void> {
    const done = new Promise<void>((resolve) => (this.#onRead = resolve));
    this.#pull();
    return done;
  }

  async #flush(hasRead: Promise<void>): Promise<void> {
    await hasRead;
    await this.#bridge.remote.flush();
  }

  /** What the editor asks is answered with why, at least its first request, which may be still to come. */
  async #giveUp(reason: CaiError): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    await Promise.race([this.#hurried, within(firstLineMs, this.#whenRead())]);
    await this.#writer.drain(stallMs);
    this.#reject(reason);
  }
}
