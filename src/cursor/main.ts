/** `cai-cursor`: an agent of ACP on stdin and stdout, over Cursor's command line. */
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { version } from '../../package.json';
import { CaiError } from '../errors';
import { hostOf } from '../system/paths/search-path';
import { allPrinted, endWithReader } from '../system/streams/printed';
import { printable, quotedLines } from '../system/quoted';
import { Account } from './account';
import { CursorAgent } from './agent';
import { cannotStart } from './failures';
import { hasAcp } from './native';
import { Program } from './program';
import { SessionStore } from './sessions';
import { usageOf } from './usage';

const help = `Usage: cai-cursor [OPTION...] [ARGUMENT...]

An agent of the Agent Client Protocol on stdin and stdout, over Cursor's command line.

  --adapter HOW stream-json (default): as here; native: cursor-agent acp; auto: native if it has that
  --model ID    the model of new sessions, as "cursor-agent models" lists them
  --no-sessions nothing is kept: sessions end with the editor
  ARGUMENT      goes to cursor-agent in every turn, such as --force or --trust
  login         runs "cursor-agent login" on this terminal
  usage, status, models
                what it says of these, as JSON
  --acp         has no meaning; editors may add it

CURSOR_AGENT_EXECUTABLE names the program, if it is not cursor-agent on the PATH.
`;

/** A longer message ends everything; `cai` passes 64 MiB, unless it is told otherwise. */
const maxMessageBytes = 256 * 1024 * 1024;

const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
const adapters = '"auto", "native" or "stream-json"';
/** What is answered without an editor. */
const questions = ['usage', 'status', 'models'] as const;

/** The arguments are those behind the program's name; resolves with the exit status once stdin has ended. */
export async function main(args: readonly string[]): Promise<number> {
  const [first] = args;
  try {
    if (first === '--version') return await print(`cai-cursor ${version}\n`);
    if (first === '--help' || first === '-h') return await print(help);
    return await run(wishOf(args), args);
  } catch (error) {
    if (!(error instanceof CaiError)) throw error;
    say(error.message);
    // As a shell says that there is no such program, so that nobody tries again.
    return error.code === 'AGENT_START' ? 127 : error.exitCode;
  }
}

async function run({ adapter, model, isLasting, extraArgs }: Wish, args: readonly string[]): Promise<number> {
  const host = hostOf(process.env);
  const { state } = host.folders;
  const program = new Program(host.env.CURSOR_AGENT_EXECUTABLE ?? 'cursor-agent', host.env, host.cwd);
  const account = new Account(program, host.env, host.cwd);
  const store = new SessionStore(isLasting ? join(state, 'cursor') : undefined, say);
  // An editor adds it to the other arguments.
  if (args.includes('login')) return (await program.start(['login'], host.cwd).ended).status ?? 1;
  const question = questions.find((each) => each === extraArgs[0]);
  if (question !== undefined) {
    const answers = {
      usage: () => usageOf(store, undefined),
      status: async () => await account.status(),
      models: async () => ({ models: await account.models() }),
    };
    return await print(`${quotedLines(await answers[question]())}\n`);
  }
  const isNative =
    adapter === 'native' ||
    (adapter === 'auto' && (await hasAcp(program, host.cwd, join(state, 'cursor-acp.json'))));
  if (isNative) return await serveNative(program, host.cwd, extraArgs, model);
  await serve(new CursorAgent({ program, account, store, model, extraArgs, log: say }));
  return 0;
}

async function print(text: string): Promise<number> {
  endWithReader();
  process.stdout.write(text);
  await allPrinted();
  return 0;
}

/** Lets Cursor's own agent have our streams. */
async function serveNative(
  program: Program,
  cwd: string,
  extraArgs: readonly string[],
  model: string | undefined,
): Promise<number> {
  const chosen = model === undefined ? [] : ['--model', model];
  const run = program.start(['acp', ...chosen, ...extraArgs], cwd);
  for (const signal of endSignals) process.on(signal, () => void run.stop());
  const { status, startError } = await run.ended;
  if (startError !== undefined) throw new CaiError('AGENT_START', cannotStart(program.name, startError));
  return status ?? 1;
}

/** Serves the editor until stdin ends or we are to end; then nothing that we have started runs any more. */
async function serve(cursor: CursorAgent): Promise<void> {
  const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
  const output = Writable.toWeb(process.stdout);
  const connection = cursor.app().connect(ndJsonStream(output, input, { maxMessageBytes }));
  const ended = new Promise<void>((resolve) => {
    for (const signal of endSignals) process.on(signal, () => resolve());
  });
  await Promise.race([connection.closed, ended]);
  await cursor.end();
}

interface Wish {
  readonly adapter: string;
  readonly model: string | undefined;
  readonly isLasting: boolean;
  readonly extraArgs: readonly string[];
}

/** Fails with `CaiError('USAGE')` for an option that lacks its value. */
function wishOf(args: readonly string[]): Wish {
  const isOurs = (arg: string): boolean => arg === '--acp' || arg === '--no-sessions';
  const extraArgs = args.filter((arg) => !isOurs(arg));
  const take = (option: string, what: string): string | undefined => {
    const place = extraArgs.indexOf(option);
    const [, value] = place < 0 ? [] : extraArgs.splice(place, 2);
    if (place >= 0 && value === undefined) throw new CaiError('USAGE', `${option} needs ${what}`);
    return value;
  };
  const model = take('--model', 'the id of a model: see "cursor-agent models"');
  const adapter = take('--adapter', adapters) ?? 'stream-json';
  if (!/^(auto|native|stream-json)$/.test(adapter))
    throw new CaiError('USAGE', `--adapter needs ${adapters}`);
  return { adapter, model, isLasting: !args.includes('--no-sessions'), extraArgs };
}

function say(line: string): void {
  process.stderr.write(`cai-cursor: ${printable(line)}\n`);
}

// As the one file that is put into containers.
if (require.main === module) void main(process.argv.slice(2)).then((status) => process.exit(status));
