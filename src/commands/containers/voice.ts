/** How commands about a container say what happens before the command in it runs. */
import type { Writable } from 'node:stream';
import { statusLine } from '../../agent/status';
import { openProgress, type Progress } from '../../container/image/progress';
import { printable } from '../../system/quoted';

/** Whom to tell what happens before a command runs. */
export interface Voice {
  /** Takes a sentence. */
  readonly tell: (notice: string) => void;
  /** Is told of what takes long. */
  readonly progress: Progress;
}

/** To the program that watches the command as data; to a person we say who speaks. */
export function voiceOf({ quiet }: { readonly quiet?: boolean }, status: Writable | undefined): Voice {
  if (status !== undefined) {
    const say = (kind: 'notice' | 'delay', text: string) => status.write(statusLine({ kind, text }));
    const tell = (notice: string): void => void say('notice', notice);
    const progress = openProgress({ write: (text) => say('delay', String(text).trimEnd()) }, false);
    // What is only to be read keeps nobody waiting.
    return {
      tell,
      progress: {
        begin: progress.begin.bind(progress),
        report: progress.report.bind(progress),
        say: tell,
        end: () => {
          progress.end();
          status.write(statusLine({ kind: 'resumed' }));
        },
      },
    };
  }
  const tell = (notice: string): void => {
    if (quiet !== true) process.stderr.write(`cai: ${printable(notice)}\n`);
  };
  return { tell, progress: openProgress(process.stderr, quiet === true) };
}
