/** How commands about a container say what happens before the command in it runs. */
import type { Writable } from 'node:stream';
import { statusLine } from '../../rpc/status';
import type { WorkspaceConfig } from '../../config/effective-config';
import { openProgress, type Progress } from '../../container/image/progress';
import { tell } from '../support/terminal';

/**
 * Whom to tell what happens before a command runs: `tell` takes a sentence, `progress` is told of what takes long, `wait` what
 * a container waits for, as `Engine.onWait`.
 */
export type Voice = Readonly<{
  tell: (notice: string) => void;
  progress: Progress;
  wait: (why: string | undefined) => void;
}>;

/** To the program that watches the command as data; to a person we say who speaks. */
export function voiceOf(isQuiet: boolean, status: Writable | undefined): Voice {
  if (status === undefined) {
    const progress = openProgress(process.stderr, isQuiet);
    const wait = (why: string | undefined) => (why === undefined ? progress.end() : progress.begin(why));
    return { tell: (notice) => isQuiet || tell(notice), progress, wait };
  }
  const say = (kind: 'notice' | 'delay', text: string) => status.write(statusLine({ kind, text }));
  const progress = openProgress({ write: (text) => say('delay', String(text).trimEnd()) }, false);
  const end = (): void => {
    progress.end();
    status.write(statusLine({ kind: 'resumed' }));
  };
  return {
    tell: (notice) => say('notice', notice),
    progress: {
      begin: (what) => progress.begin(what),
      report: (event) => progress.report(event),
      // What is only to be read keeps nobody waiting.
      say: (sentence) => say('notice', sentence),
      end,
    },
    wait: (why) => {
      if (why === undefined) {
        end();
        return;
      }
      progress.begin(why);
      const title = 'The agent cannot start yet.';
      status.write(statusLine({ kind: 'warning', title, description: `Its container is ${why}.` }));
    },
  };
}

/** What of a repository's files is not used, in a sentence for each at most: `cai config` has all of it. */
export function briefly({ notices, repository, devcontainerNotices }: WorkspaceConfig): readonly string[] {
  if (notices.length <= 1) return [...notices, ...devcontainerNotices];
  const ignored = `${repository!.file}: ${notices.length} keys are ignored: see "cai config"`;
  return [ignored, ...devcontainerNotices];
}
