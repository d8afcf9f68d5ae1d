/** How commands about a container say what happens before the command in it runs. */
import type { Writable } from 'node:stream';
import { statusLine } from '../../rpc/status';
import type { WorkspaceConfig } from '../../config/effective-config';
import { openProgress, type Progress } from '../../container/image/progress';
import { printable } from '../../system/quoted';

/** Whom to tell what happens before a command runs: `tell` takes a sentence, `progress` is told of what takes long. */
export type Voice = Readonly<{ tell: (notice: string) => void; progress: Progress }>;

/** To the program that watches the command as data; to a person we say who speaks. */
export function voiceOf(isQuiet: boolean, status: Writable | undefined): Voice {
  if (status === undefined) {
    const tell = (notice: string): void => {
      if (!isQuiet) process.stderr.write(`cai: ${printable(notice)}\n`);
    };
    return { tell, progress: openProgress(process.stderr, isQuiet) };
  }
  const say = (kind: 'notice' | 'delay', text: string) => status.write(statusLine({ kind, text }));
  const tell = (notice: string): void => void say('notice', notice);
  const progress = openProgress({ write: (text) => say('delay', String(text).trimEnd()) }, false);
  return {
    tell,
    progress: {
      begin: (what) => progress.begin(what),
      report: (event) => progress.report(event),
      // What is only to be read keeps nobody waiting.
      say: tell,
      end: () => {
        progress.end();
        status.write(statusLine({ kind: 'resumed' }));
      },
    },
  };
}

/** What of a repository's files is not used, in a sentence for each at most: `cai config` has all of it. */
export function briefly({ notices, repository, devcontainerNotices }: WorkspaceConfig): readonly string[] {
  if (notices.length <= 1) return [...notices, ...devcontainerNotices];
  const ignored = `${repository!.file}: ${notices.length} keys are ignored: see "cai config"`;
  return [ignored, ...devcontainerNotices];
}
