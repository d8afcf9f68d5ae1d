/** The folders that belong to `cai` itself. Source: XDG Base Directory Specification. */
import { userInfo } from 'node:os';
import { posix } from 'node:path';
import { CaiError } from '../errors';

/** Absolute paths; none of the folders need exist. */
export interface OwnFolders {
  /** What the user writes: `config.toml`. */
  readonly config: string;
  /** What survives a restart: session ids, profiles, keys. */
  readonly state: string;
  /** What belongs to the agents. */
  readonly data: string;
  /** What ends with the login session. Absent where the system has no such folder. */
  readonly runtime?: string;
}

/**
 * The folders for this environment. A relative value counts as unset, as the specification says. Fails with
 * `CONFIG` for a user without a home folder.
 */
export function ownFolders(env: NodeJS.ProcessEnv): OwnFolders {
  const home = homeFolder(env);
  const below = (base: string | undefined, standard: string) =>
    posix.join(absolute(base) ?? posix.join(home, standard), 'containai');
  const folders = {
    config: below(env.XDG_CONFIG_HOME, '.config'),
    state: below(env.XDG_STATE_HOME, '.local/state'),
    data: below(env.XDG_DATA_HOME, '.local/share'),
  };
  const runtime = absolute(env.XDG_RUNTIME_DIR);
  return runtime === undefined ? folders : { ...folders, runtime: posix.join(runtime, 'containai') };
}

/** The user's home folder, absolute. Fails with `CONFIG` for a user without one. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  const home = absolute(env.HOME) ?? passwdUser()?.homedir;
  if (home !== undefined) return home;
  throw new CaiError(
    'CONFIG',
    'no home folder: HOME is not set, and the user has no entry in the user database',
  );
}

/**
 * The user whose id this process has, by the user database, which a changed `HOME` does not move;
 * `undefined` for an id that has no entry there.
 */
export function passwdUser(): { readonly uid: number; readonly homedir: string } | undefined {
  try {
    return userInfo();
  } catch {
    // Common in containers that are given an arbitrary user id.
    return undefined;
  }
}

function absolute(path: string | undefined): string | undefined {
  return path?.startsWith('/') === true ? path : undefined;
}
