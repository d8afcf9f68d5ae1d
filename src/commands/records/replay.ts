/** `cai replay`: plays one side of a recording, which `cai --acp --record` has made. */
import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import type { Host } from '../../system/host';
import { harmless } from '../../recording/harmless';
import { Playback, type PlaybackOptions } from '../../recording/playback';
import { maxRecordingBytes, readRecording, type RecordedLine } from '../../recording/recording';
import { SignIn } from '../../sign-in/sign-in';
import { AgentProcess, hastyStop } from '../../agent/process';
import { CaiError, messageOf } from '../../errors';
import { openLog } from '../../system/log';
import { LineReader, type LineLimits } from '../../rpc/line';
import type { Line } from '../../rpc/splice';
import { printableLine } from '../../system/quoted';
import { declare } from '../support/command';

interface Options {
  readonly as: 'agent' | 'editor';
  readonly child?: number;
  readonly timing?: true;
  readonly files?: true;
}

const limits: LineLimits = { maxLineBytes: 64 * 1024 * 1024, maxSearchBytes: 1024 * 1024 };

/** Resolves with 0 when all was played. Rejects with `CaiError('REPLAY')` when that was not possible. */
export const run = declare<Options>({
  name: 'replay',
  description: `Plays one side of a recording: an agent's, on stdin and stdout, to an editor that does again what it did, or
an editor's, to COMMAND. What is said is compared by method and session, not by contents. Ends with 1 and the line of the
recording when something else happens.`,
  arguments: [
    ['<file>', 'the recording'],
    ['[command...]', 'behind --: the agent that an editor is played to'],
  ],
  options: [
    new Option('--as <side>', 'which side').choices(['agent', 'editor']).default('agent'),
    new Option(
      '--child <number>',
      "what passed between cai and its agent of that number, not the editor's side",
    ).argParser(numberOf),
    ['--timing', 'with the pauses that it had'],
    ['--files', 'an agent may also write files by the editor'],
  ],
  footer: `
A recording is made by: cai --acp --record FILE AGENT. It ends at ${maxRecordingBytes / 2 ** 20} MiB.
To play its agent, name this command in the settings of your editor, with "args": ["replay", "/path/of/FILE"].
To play its editor: cai replay FILE --as editor -- COMMAND.
What is recorded nowhere ends it at once; what comes before its turn, when its turn has not come after 5 s,
or after 60 s where an editor is played.
Secrets are not in it, so that a sign-in cannot be played to a real agent.
A stranger's recording is as a stranger's agent. When its agent is played, commands are left out, and
files it writes without --files, which stderr says; all else reaches the editor.`,
  action: async (options, host, [file, ...program]) => {
    const isEditor = options.as === 'editor';
    if (isEditor !== program.length > 0) {
      throw new CaiError(
        'USAGE',
        isEditor
          ? 'an editor is played to an agent: cai replay FILE --as editor -- COMMAND'
          : 'an agent is played on stdin and stdout, without a COMMAND: or add --as editor',
      );
    }
    const lines = readRecording(read(file!), file!);
    requireChild(lines, options.child);
    await (isEditor ? playEditor(lines, options, host, program) : playAgent(lines, options, host));
    return 0;
  },
});

/** Fails with `CaiError('USAGE')` for what numbers no agent. */
function numberOf(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new CaiError('USAGE', `--child: "${text}" is not the number of an agent: they count from 1`);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (reason) {
    throw new CaiError('REPLAY', `${file} cannot be read: ${messageOf(reason)}`);
  }
}

function requireChild(lines: readonly RecordedLine[], child: number | undefined): void {
  if (lines.some((line) => line.child === child)) return;
  const children = [...new Set(lines.flatMap((line) => line.child ?? []))].sort((a, b) => a - b);
  const which = child === undefined ? "the editor's side" : `an agent ${child}`;
  const known = children.length === 0 ? 'none' : children.join(', ');
  throw new CaiError('REPLAY', `the recording has no lines of ${which}; its agents: ${known}`);
}

function optionsOf({ as, child, timing }: Options, send: PlaybackOptions['send']): PlaybackOptions {
  return { role: as, child, keepsTime: timing === true, send };
}

/** On our own stdin and stdout. */
async function playAgent(lines: readonly RecordedLine[], options: Options, host: Host): Promise<void> {
  const log = openLog(host.env);
  const signIn = new SignIn({ agent: undefined, host, log });
  const note = (text: string): void => void process.stderr.write(`cai: ${printableLine(text)}\n`);
  const played = harmless(lines, { child: options.child, writesFiles: options.files === true, signIn, note });
  if (host.isOnTerminal)
    note('this waits for what an editor sends: name it in the settings of your editor instead');
  const playback = new Playback(played, optionsOf(options, toStdout));
  const reader = new LineReader(limits);
  const pull = (): void => {
    for (let line = reader.next(); line !== undefined; line = reader.next()) playback.take(line);
  };
  process.stdin.on('data', (chunk: Buffer) => {
    reader.push(chunk);
    pull();
  });
  process.stdin.on('end', () => {
    reader.end();
    pull();
    playback.end('instead the editor has left');
  });
  await playback.run(true);
}

/** Resolves when stdout has taken the line. */
function toStdout(line: Line): Promise<void> {
  const bytes = Buffer.isBuffer(line) ? line : Buffer.concat(line);
  return new Promise((resolve) => process.stdout.write(bytes, () => resolve()));
}

/** To a process of `program`, which ends with the recording. */
async function playEditor(
  lines: readonly RecordedLine[],
  options: Options,
  host: Host,
  [name = '', ...args]: readonly string[],
): Promise<void> {
  const agent = new AgentProcess({
    agent: { name, displayName: name, command: [name, ...args], remedy: 'check the command' },
    cwd: host.cwd,
    env: host.env,
    limits,
    log: openLog(host.env),
    onLine: (line) => playback.take(line),
    onEnd: (reason) => playback.end(reason.message),
  });
  const send = (line: Line) => agent.send(line);
  const playback = new Playback(lines, optionsOf(options, send));
  try {
    await playback.run(false);
  } finally {
    await agent.stop(hastyStop);
  }
}
