/** `cai logs`: what the processes that editors have started say, from the files that they keep. */
import { closeSync, fstatSync, mkdirSync, openSync, readdirSync, readSync, watch } from 'node:fs';
import { join } from 'node:path';
import { isLog, stemOf } from '../log-file';
import { ownFolders } from '../workspace/own-folders';
import { printableLine, quoted } from '../workspace/quoted';
import { realOrSame } from '../workspace/real-path';
import { commandLine, runCommandLine } from './command-line';

interface Options {
  readonly follow?: true;
  readonly agent?: string;
  readonly workspace?: string;
  readonly lines: number;
  readonly json?: true;
}

const description = `Shows what the last 20 processes of "cai --acp" have logged at level info and above, whatever
CAI_LOG_LEVEL says, but for "silent". The text of prompts, files and environments is never logged.`;

/** A line of a log. */
interface Entry {
  readonly level: number;
  readonly time: string;
  readonly msg: string;
  readonly root?: unknown;
  readonly agent?: unknown;
  readonly pid?: unknown;
}

const levels: Readonly<Record<number, string>> = { 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };
/** Where the system has no more watches, the folder is looked at this often. */
const lookMs = 1_000;
const chunkBytes = 64 * 1024;

/** Writes the lines to stdout; resolves with 0, with `--follow` when a signal ends it. */
export async function run(args: readonly string[]): Promise<number> {
  const command = commandLine('logs', description)
    .option('-f, --follow', 'and what is logged from now on')
    .option('--agent <name>', 'only processes that run this agent')
    .option('-w, --workspace <folder>', 'only what is about this workspace, or about none')
    .option('-n, --lines <number>', 'how many of the last lines', Number, 200)
    .option('--json', 'the lines as they are kept: one JSON object each');
  return await runCommandLine(command, args, async () => {
    const { workspace, ...rest } = command.opts<Options>();
    const options = { ...rest, ...(workspace !== undefined && { workspace: realOrSame(workspace) }) };
    const folder = join(ownFolders(process.env).state, 'logs');
    const logs = new Logs(folder, options);
    const shown = logs.read();
    process.stdout.write(shown.slice(-Math.max(options.lines || 0, 1)).join(''));
    if (options.follow === true) await follow(folder, logs);
    else if (shown.length === 0) process.stderr.write('cai: nothing is logged\n');
    return 0;
  });
}

/** Writes what comes; the promise stays open until the process is ended. */
async function follow(folder: string, logs: Logs): Promise<never> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const look = (): void => {
    const text = logs.read().join('');
    if (text !== '') process.stdout.write(text);
  };
  const lookOften = (): void => void setInterval(look, lookMs);
  try {
    watch(folder, look).on('error', lookOften);
  } catch {
    lookOften();
  }
  // For what came between the first look and the watch.
  look();
  return await new Promise<never>(() => undefined);
}

/** The files of a folder, each read on from where it was read to. */
class Logs {
  /** By inode, because a file changes its name when it becomes the older half of a log. */
  readonly #read = new Map<number, { bytes: number; rest: string }>();
  readonly #heads = new Map<string, Entry>();

  constructor(
    private readonly folder: string,
    private readonly options: Options,
  ) {}

  /** What is new and wanted, by time, as it is shown. */
  read(): string[] {
    const entries = filesIn(this.folder).flatMap((name) => this.#readFile(name));
    return entries.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0)).map(({ text }) => text);
  }

  #readFile(name: string): { time: string; text: string }[] {
    return this.#newLines(name).flatMap((line) => {
      const entry = parse(line);
      if (entry === undefined) return [];
      const stem = stemOf(name);
      if (entry.agent !== undefined && entry.pid !== undefined) this.#heads.set(stem, entry);
      const head = this.#heads.get(stem);
      if (!this.#isWanted(entry, head)) return [];
      return [
        { time: entry.time, text: this.options.json === true ? `${quoted(entry)}\n` : textOf(entry, head) },
      ];
    });
  }

  #isWanted(entry: Entry, head: Entry | undefined): boolean {
    const { agent, workspace } = this.options;
    if (agent !== undefined && head?.agent !== agent) return false;
    return workspace === undefined || entry.root === undefined || entry.root === workspace;
  }

  /** The whole lines that were added to a file; none if it is gone. */
  #newLines(name: string): string[] {
    let file: number;
    try {
      file = openSync(join(this.folder, name), 'r');
    } catch {
      return [];
    }
    try {
      const { ino } = fstatSync(file);
      const { bytes, rest } = this.#read.get(ino) ?? { bytes: 0, rest: '' };
      const added = readFrom(file, bytes);
      const lines = (rest + added.toString('utf8')).split('\n');
      this.#read.set(ino, { bytes: bytes + added.length, rest: lines.pop()! });
      return lines;
    } finally {
      closeSync(file);
    }
  }
}

function readFrom(file: number, start: number): Buffer {
  const pieces: Buffer[] = [];
  for (let at = start; ;) {
    const piece = Buffer.alloc(chunkBytes);
    const length = readSync(file, piece, 0, chunkBytes, at);
    if (length === 0) return Buffer.concat(pieces);
    pieces.push(piece.subarray(0, length));
    at += length;
  }
}

/** The older half of a log comes first. */
function filesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter(isLog);
    return names.sort((a, b) => (a.replace('.old', '!') < b.replace('.old', '!') ? -1 : 1));
  } catch {
    return [];
  }
}

function parse(line: string): Entry | undefined {
  try {
    const value = JSON.parse(line) as Entry | null;
    return typeof value?.time === 'string' && typeof value.msg === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

function textOf(entry: Entry, head: Entry | undefined): string {
  const { level, time, msg, ...fields } = entry;
  const who = head === undefined ? '' : `${String(head.agent)}[${String(head.pid)}] `;
  const shown = Object.entries(fields).filter(([key]) => key !== 'pid' && key !== 'agent');
  const more = shown.map(([key, value]) => ` ${key}=${quoted(value)}`);
  return `${printableLine(`${time} ${levels[level] ?? String(level)} ${who}${msg}${more.join('')}`)}\n`;
}
