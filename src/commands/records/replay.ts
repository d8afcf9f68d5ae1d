/** `cai replay`: plays one side of a recording, which `cai --acp --record` has made. */
import { readFileSync } from 'node:fs';
import { Option } from 'commander';
import type { Host } from '../../system/host';
import {
  harmless,
  Playback,
  type PlaybackOptions,
  maxRecordingBytes,
  readRecording,
  type RecordedLine,
  SignIn,
} from '../../acp';
import { AgentProcess } from '../../agent/process';
import { hastyStop } from '../../agent/process-end';
import { CaiError } from '../../errors';
import { openLog } from '../../system/log';
import { LineReader, type LineLimits } from '../../rpc/line';
import type { Line } from '../../rpc/splice';
import { printableLine } from '../../system/quoted';
import { reading } from '../../system/unless';
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
  description: `Plays one side of a recording: the agent's side, on stdin and stdout, to an editor that repeats what it did,
or the editor's side, to COMMAND. Messages are compared by method and session, not by contents. If something else
happens, it names the line of the recording and ends with status 1.`,
  arguments: [
    ['<file>', 'the recording'],
    ['[command...]', 'after --: the agent to play the editor to'],
  ],
  options: [
    new Option('--as <side>', 'which side to play').choices(['agent', 'editor']).default('agent'),
    new Option(
      '--child <number>',
      'play what passed between cai and its agent with this number, not what passed between the editor and cai',
    ).argParser(numberOf),
    ['--timing', 'with the original pauses'],
    ['--files', 'let the agent also write files through the editor'],
  ],
  footer: `
To make a recording: cai --acp --record FILE AGENT. It ends at ${maxRecordingBytes / 2 ** 20} MiB.
To play its agent, name this command in the settings of your editor, with "args": ["replay", "/path/of/FILE"].
To play its editor: cai replay FILE --as editor -- COMMAND.
A message that is not in the recording ends it at once. One that comes too early has to wait for its turn, at most
5 s, or 60 s with --as editor.
A recording holds no secrets, so a sign-in cannot be played to a real agent.
Treat a stranger's recording like a stranger's agent. When its agent is played, its commands are left out, and
without --files also the files it writes, as stderr then says; everything else reaches the editor.`,
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
    const text = reading(file!, () => readFileSync(file!, 'utf8'), 'REPLAY');
    const lines = readRecording(text, file!);
    requireChild(lines, options.child);
    await (isEditor ? playEditor(lines, options, host, program) : playAgent(lines, options, host));
    return 0;
  },
});

/** Fails with `CaiError('USAGE')` for what numbers no agent. */
function numberOf(text: string): number {
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new CaiError('USAGE', `--child: "${text}" is not the number of an agent, which is 1 or more`);
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

/** Plays the agent on our own stdin and stdout. */
async function playAgent(lines: readonly RecordedLine[], options: Options, host: Host): Promise<void> {
  const log = openLog(host.env);
  const signIn = new SignIn({ agent: undefined, host, log });
  const note = (text: string): void => void process.stderr.write(`cai: ${printableLine(text)}\n`);
  const played = harmless(lines, { child: options.child, writesFiles: options.files === true, signIn, note });
  if (host.isOnTerminal) note('this waits for an editor: name it in the settings of your editor instead');
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
  const started = {
    agent: { name, displayName: name, command: [name, ...args], remedy: 'check the command' },
    ...{ cwd: host.cwd, env: host.env, limits, log: openLog(host.env) },
  } as const;
  const agent = new AgentProcess(started, (event) => {
    if (event.kind === 'line') playback.take(event.line);
    if (event.kind === 'end') playback.end(event.reason.message);
  });
  const send = (line: Line) => agent.send(line);
  const playback = new Playback(lines, optionsOf(options, send));
  try {
    await playback.run(false);
  } finally {
    await agent.stop(hastyStop);
  }
}
