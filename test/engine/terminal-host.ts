/** Terminals of an editor, in the ways in which editors run commands. */
import type { Json } from '../support/inbox';
import type { Editor } from './editor';
import type { Running } from './running';
import type { Cai } from './support';

/** What a terminal is created from. */
export interface Created {
  readonly sessionId: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: readonly unknown[];
  readonly cwd: string;
  readonly outputByteLimit?: number;
  readonly _meta?: Json;
}

/** Program and arguments for a command that an editor is to run. */
type Way = (command: string, args: readonly string[]) => readonly [string, ...string[]];

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

/** How editors run a command. */
export const ways: Readonly<Record<string, Way>> = {
  'started directly': (command, args) => [command, ...args],
  'joined with quotes into a line for a shell': (command, args) => [
    'sh',
    '-c',
    [command, ...args].map(quoted).join(' '),
  ],
  'joined without quotes, in a terminal that it cannot read': (command, args) => [
    'script',
    '-qec',
    `${[command, ...args].join(' ')} </dev/null`,
    '/dev/null',
  ],
  'in a terminal': (command, args) => ['script', '-qec', [command, ...args].join(' '), '/dev/null'],
};

interface Terminal {
  readonly created: Created;
  readonly program: Running;
}

/** The terminals of one editor. Whoever runs them has an environment of their own, without our engine. */
export class TerminalHost {
  /** By their ids; those that were released are gone. */
  readonly terminals = new Map<string, Terminal>();
  /** Every one that was ever created. */
  readonly all: Terminal[] = [];
  /** Methods and ids of everything that was asked about a terminal. */
  readonly asked: string[] = [];

  /** Serves the terminals of `editor`. */
  constructor(
    private readonly cai: Cai,
    editor: Editor,
    private readonly way: Way,
  ) {
    editor.serve('terminal/create', (params) => ({ terminalId: this.#create(params as unknown as Created) }));
    editor.serve('terminal/output', (params) => this.#output(this.#named('output', params)));
    editor.serve(
      'terminal/wait_for_exit',
      async (params) => await exitOf(this.#named('wait', params).program),
    );
    // Which is passed on by commands that people run themselves.
    editor.serve('terminal/kill', (params) => void this.#named('kill', params).program.child.kill('SIGTERM'));
    editor.serve('terminal/release', (params) => {
      this.#named('release', params).program.child.kill('SIGKILL');
      this.terminals.delete(params.terminalId as string);
    });
  }

  #create(created: Created): string {
    const [file, ...args] = this.way(created.command, created.args);
    const env = { DOCKER_HOST: undefined, TERM: 'xterm' };
    const program = this.cai.startProgram(file, args, { cwd: created.cwd, env });
    if (file !== 'script') program.child.stdin.end();
    const terminal = { created, program };
    const id = `terminal ${this.all.push(terminal)}`;
    this.terminals.set(id, terminal);
    return id;
  }

  #named(what: string, { terminalId }: Json): Terminal {
    const id = terminalId as string;
    this.asked.push(`${what} ${id}`);
    const terminal = this.terminals.get(id);
    if (terminal === undefined) throw new Error(`no ${id}`);
    return terminal;
  }

  async #output({ created, program }: Terminal): Promise<Json> {
    const { child } = program;
    const all = Buffer.concat([program.stdout, Buffer.from(program.stderr)]);
    const limit = created.outputByteLimit ?? all.length;
    const output = all.subarray(Math.max(all.length - limit, 0)).toString();
    const isOver = child.exitCode !== null || child.signalCode !== null;
    const exitStatus = isOver ? await exitOf(program) : null;
    return { output, truncated: all.length > limit, exitStatus };
  }
}

async function exitOf(program: Running): Promise<Json> {
  const { status, signal } = await program.ends();
  return { exitCode: status, signal };
}
