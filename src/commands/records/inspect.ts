/** `cai inspect`: shows a recording in the browser, also while it is being made. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { InspectedRecording } from '../../acp';
import { CaiError } from '../../errors';
import { InspectServer } from '../../served/server';
import type { Host } from '../../system/host';
import { isLog, stemOf } from '../../system/log-file';
import { isAlive } from '../../system/process-identity';
import { readState } from '../../system/state-folder';
import { objectIn, unlessGone } from '../../system/unless';
import { declare } from '../support/command';
import { firstEndSignal } from '../support/end-signals';
import { tell } from '../support/terminal';

interface Options {
  readonly live?: true;
}

/** As `Recorder` logs it. */
const recordingMessage = 'all messages are recorded';

/** Writes the link to stdout, all else to stderr; resolves with 0 when a signal ends it. */
export const run = declare<Options>({
  name: 'inspect',
  description: `Shows a recording in your browser: sessions, messages with their sizes and times, turns, what was redacted, tokens
and cost. It prints a link, which works once and on this machine alone, and serves the page until Ctrl+C.`,
  arguments: [['[file]', 'the recording; with --live it may be left out']],
  options: [
    ['--live', 'keep showing what is added; without a file: the recording of the connection that runs'],
  ],
  footer: `
To make a recording: cai --acp --record FILE AGENT.`,
  action: async ({ live }, host, [file]) => {
    if (file === undefined && live !== true)
      throw new CaiError('USAGE', 'name a recording, or say --live for that of the connection that runs');
    const path = file === undefined ? running(host) : resolve(host.cwd, file);
    const recording = await InspectedRecording.open(path);
    const server = new InspectServer({
      about: { ...recording.about, isLive: live === true },
      reader: () => recording.reader(),
      message: async (at, bytes) => await recording.message(at, bytes),
      search: async (text, at, line) => await recording.search(text, at, line),
    });
    const ended = firstEndSignal();
    try {
      process.stdout.write(`${await server.listen()}\n`);
      tell(
        `this shows ${path}: whoever opens the link first, within five minutes, is let in; Ctrl+C ends it`,
      );
      await ended;
      return 0;
    } finally {
      await server.close();
      await recording.close();
    }
  },
});

/** The file to which the one process writes that records. Fails with `CaiError('USAGE')` where there are several or none. */
function running(host: Host): string {
  const files = readState(host.folders.state, 'logs', (folder) => {
    const logs = (unlessGone(() => readdirSync(folder)) ?? []).filter(isLog).sort();
    return logs
      .filter((name) => isAlive(Number(stemOf(name).split('-')[1])))
      .flatMap((name) => (unlessGone(() => readFileSync(join(folder, name), 'utf8')) ?? '').split('\n'))
      .map((line) => objectIn(line))
      .flatMap((line) =>
        String(line?.msg).startsWith(recordingMessage) && typeof line?.file === 'string' ? [line.file] : [],
      );
  });
  const [only, ...others] = [...new Set(files)];
  if (only !== undefined && others.length === 0) return only;
  throw new CaiError(
    'USAGE',
    only === undefined
      ? 'no connection is being recorded, and one that began without --record keeps nothing to show: put "--record", "/path/of/FILE" behind "--acp" in your editor\'s settings and start the agent there anew, or name a file'
      : `several connections are being recorded, so name one of the files: ${[only, ...others].join(', ')}`,
  );
}
