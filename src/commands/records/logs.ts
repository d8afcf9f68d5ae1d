/** `cai logs`: what the processes that editors have started say, from the files that they keep. */
import { fstatSync, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { Option } from 'commander';
import { agentNameOf } from '../../agent/catalog';
import { loadConfig } from '../../config/config';
import { CaiError } from '../../errors';
import { isLog, stemOf } from '../../system/log-file';
import { bytesAt, withFile } from '../../system/files/open-file';
import { printableLine, quoted } from '../../system/quoted';
import { readState } from '../../system/state-folder';
import { declare } from '../support/command';
import { namedRoot } from '../support/named-root';
import { shownTime, tell } from '../support/terminal';
import { unlessFails, unlessGone } from '../../system/unless';
import { showServiceLog } from './service-log';
import { makeFolder } from '../../system/files/make-folder';

interface Options {
  readonly follow?: true;
  readonly agent?: string;
  readonly workspace?: string;
  readonly lines: number;
  readonly json?: true;
  readonly service?: string;
}

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
/** So much of a file tells it from others; its first line, which has a time and a process id, is shorter. */
const beginningBytes = 1_024;

/** Writes the lines to stdout; resolves with 0, with `--follow` when a signal ends it. */
export const run = declare<Options>({
  name: 'logs',
  description: `Shows what the last 20 processes of "cai --acp" and "cai serve", and those that still run, have logged at level
info and above, whatever CAI_LOG_LEVEL is, unless it is "silent". The text of prompts, files and environments is
never logged.`,
  options: [
    ['-f, --follow', 'keep showing what is logged'],
    ['-a, --agent <name>', 'only processes that run this agent'],
    ['-w, --workspace <folder>', 'only what is about this workspace (any folder in it), or about none'],
    new Option('-n, --lines <number>', 'how many of the last lines to show').argParser(countOf).default(200),
    ['--json', 'print the lines as they are kept, one JSON object each'],
    new Option(
      '--service <name>',
      'show instead what this service beside the container of the workspace has printed',
    ).conflicts(['follow', 'json']),
  ],
  footer: `
JSON: on each line an object: level (30 info, 40 warn, 50 error, 60 fatal), time, msg, and what else it is about, such as
root. The first line of each process has its pid, agent and version.`,
  action: async ({ workspace, lines, agent, service, ...others }, host) => {
    // It also helps those whose configuration cannot be read.
    const agents = unlessFails(() => loadConfig(host).agents) ?? {};
    const whose = agent === undefined ? {} : { agent: agentNameOf(agent, agents) };
    if (service !== undefined) {
      const where = { lines, ...(workspace !== undefined && { workspace }), ...whose };
      return await showServiceLog(service, where, host);
    }
    const root = workspace === undefined ? undefined : await namedRoot(workspace, host);
    const { logs, shown } = readState(host.folders.state, 'logs', (folder) => {
      if (others.follow === true) makeFolder(folder);
      const opened = new Logs(folder, root, { ...others, ...whose });
      return { logs: opened, shown: opened.read() };
    });
    process.stdout.write(shown.slice(-lines).join(''));
    if (others.follow === true) await follow(logs);
    else if (logs.isEmpty) tell('nothing is logged');
    else if (shown.length === 0) tell('no line of the log matches: "cai logs" shows all');
    return 0;
  },
});

/** Fails with `CaiError('USAGE')` for what is no number of lines. */
function countOf(text: string): number {
  if (/^0*[1-9]\d*$/.test(text)) return Number(text);
  throw new CaiError('USAGE', `--lines: "${text}" is not a whole number of at least 1`);
}

/** Writes what comes; the promise stays open until the process is ended. */
async function follow(logs: Logs): Promise<never> {
  const look = (): void => {
    const text = logs.read().join('');
    if (text !== '') process.stdout.write(text);
  };
  const lookOften = (): void => void setInterval(look, lookMs);
  try {
    watch(logs.folder, look).on('error', lookOften);
  } catch {
    lookOften();
  }
  // For what came between the first look and the watch.
  look();
  return await new Promise<never>(() => undefined);
}

/** The files of a folder, each read on from where it was read to. */
class Logs {
  /** No line has been read, wanted or not. */
  isEmpty = true;
  /** How far each file was read, by inode, as logs are renamed. `beginning` tells an inode that is reused. */
  readonly #read = new Map<number, { beginning: string; bytes: number }>();
  readonly #heads = new Map<string, Entry>();

  constructor(
    readonly folder: string,
    private readonly root: string | undefined,
    private readonly options: Pick<Options, 'agent' | 'json'>,
  ) {}

  /** What is new and wanted, by time, as it is shown. */
  read(): string[] {
    const found = filesIn(this.folder).flatMap((name) =>
      this.#newLines(name).flatMap((line) => this.#shown(line, stemOf(name))),
    );
    return found.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0)).map(({ text }) => text);
  }

  /** Nothing for a line that is damaged or not wanted. */
  #shown(line: string, stem: string): { time: string; text: string }[] {
    const entry = parse(line);
    if (entry === undefined) return [];
    this.isEmpty = false;
    if (entry.agent !== undefined && entry.pid !== undefined) this.#heads.set(stem, entry);
    const head = this.#heads.get(stem);
    const { agent, json } = this.options;
    if (agent !== undefined && head?.agent !== agent) return [];
    if (this.root !== undefined && entry.root !== undefined && entry.root !== this.root) return [];
    return [{ time: entry.time, text: json === true ? `${quoted(entry)}\n` : textOf(entry, head) }];
  }

  /** The whole lines that were added to a file; none if it is gone. */
  #newLines(name: string): string[] {
    const read = (file: number): string[] => {
      const { ino, size } = fstatSync(file);
      const beginning = bytesAt(file, 0, beginningBytes).toString('latin1').split('\n', 1).join();
      const known = this.#read.get(ino);
      const start = known?.beginning === beginning ? known.bytes : 0;
      const added = bytesAt(file, start, Math.max(size - start, 0));
      const whole = added.subarray(0, added.lastIndexOf('\n') + 1);
      this.#read.set(ino, { beginning, bytes: start + whole.length });
      return whole.toString('utf8').split('\n');
    };
    return unlessGone(() => withFile(join(this.folder, name), 'r', read)) ?? [];
  }
}

/** The older half of a log comes first. */
function filesIn(folder: string): string[] {
  const names = unlessGone(() => readdirSync(folder))?.filter(isLog) ?? [];
  return names.sort((a, b) => (a.replace('.old', '!') < b.replace('.old', '!') ? -1 : 1));
}

function parse(line: string): Entry | undefined {
  const value = unlessFails(() => JSON.parse(line) as Entry | null);
  return typeof value?.time === 'string' && typeof value.msg === 'string' ? value : undefined;
}

function textOf(entry: Entry, head: Entry | undefined): string {
  const { level, time, msg, ...fields } = entry;
  const who = head === undefined ? '' : `${String(head.agent)}[${String(head.pid)}] `;
  const shown = Object.entries(fields).filter(([key]) => key !== 'pid' && key !== 'agent');
  const more = shown.map(([key, value]) => ` ${key}=${quoted(value)}`);
  return `${printableLine(`${shownTime(time)} ${levels[level] ?? String(level)} ${who}${msg}${more.join('')}`)}\n`;
}
