/** `cai-cursor`: an agent of ACP on stdin and stdout, over Cursor's command line. */
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';
import { version } from '../../package.json';
import { CaiError } from '../errors';
import { hostOf } from '../system/paths/search-path';
import { printable } from '../system/quoted';
import { Account } from './account';
import { CursorAgent } from './agent';
import { Program } from './program';
import { SessionStore } from './sessions';

const help = `Usage: cai-cursor [--model ID] [ARGUMENT...]

An agent of the Agent Client Protocol on stdin and stdout, over Cursor's command line.

  --model ID    the model of new sessions, as "cursor-agent models" lists them
  ARGUMENT      goes to cursor-agent in every turn, such as --force or --trust
  login         runs "cursor-agent login" on this terminal
  --acp         has no meaning; editors may add it

CURSOR_AGENT_EXECUTABLE names the program, if it is not cursor-agent on the PATH.
`;

/** The arguments are those behind the program's name; resolves with the exit status once stdin has ended. */
export async function main(args: readonly string[]): Promise<number> {
  const [first] = args;
  if (first === '--help' || first === '-h' || first === '--version') {
    process.stdout.write(first === '--version' ? `cai-cursor ${version}\n` : help);
    return 0;
  }
  try {
    const host = hostOf(process.env);
    const program = new Program(host.env.CURSOR_AGENT_EXECUTABLE ?? 'cursor-agent', host.env, host.cwd);
    // An editor adds it to the other arguments.
    if (args.includes('login')) return (await program.start(['login'], host.cwd).ended).status ?? 1;
    const { model, extraArgs } = wishOf(args);
    const cursor = new CursorAgent({
      ...{ program, model, extraArgs, log: say },
      account: new Account(program, host.env, host.cwd),
      store: new SessionStore(join(host.folders.state, 'cursor')),
    });
    await serve(cursor);
    return 0;
  } catch (error) {
    if (!(error instanceof CaiError)) throw error;
    say(error.message);
    return error.exitCode;
  }
}

/** Serves the editor until stdin ends or we are to end; then nothing that we have started runs any more. */
async function serve(cursor: CursorAgent): Promise<void> {
  const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>;
  const connection = cursor.app().connect(ndJsonStream(Writable.toWeb(process.stdout), input));
  const ended = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve());
  });
  await Promise.race([connection.closed, ended]);
  await cursor.end();
}

function wishOf(args: readonly string[]): { model: string | undefined; extraArgs: string[] } {
  const extraArgs = args.filter((arg) => arg !== '--acp');
  const place = extraArgs.indexOf('--model');
  if (place < 0) return { model: undefined, extraArgs };
  const [, model] = extraArgs.splice(place, 2);
  if (model === undefined)
    throw new CaiError('USAGE', '--model needs the id of a model: see "cursor-agent models"');
  return { model, extraArgs };
}

function say(line: string): void {
  process.stderr.write(`cai-cursor: ${printable(line)}\n`);
}
