/** What this process has of the machine it runs on: looked at once, in `main`, and handed down. */
import { fstatSync } from 'node:fs';
import { userInfo } from 'node:os';
import { posix } from 'node:path';
import { CaiError } from '../errors';
import { unlessFails } from './unless';

/** Absolute paths of our own folders, which need not exist. Source: XDG Base Directory Specification. */
interface OwnFolders {
  /** What the user writes: `config.toml`. */
  readonly config: string;
  /** What survives a restart: session ids, profiles, keys. */
  readonly state: string;
  /** What ends with the login session. Absent where the system has no such folder. */
  readonly runtime?: string;
}

/** Where `cai serve` says which folders somebody who came in may work in: a JSON list of real paths. */
export const workspacesVariable = 'CAI_SERVE_WORKSPACES';

/** With this `cai serve` says that it has started the process: descriptor 3 leads to it, as `rpc/status.ts` has it. */
export const servedVariable = 'CAI_SERVED';

/** The environment of this process, and what follows from it; each is worked out when it is first asked for. */
export class Host {
  #home: string | undefined;
  #folders: OwnFolders | undefined;
  #workspaces: readonly string[] | undefined;

  /** Nothing is looked at before it is asked for. `folder`: what is to count as the current one, an absolute path. */
  constructor(
    /** The environment variables, which the processes that we start inherit. */
    readonly env: NodeJS.ProcessEnv,
    private readonly folder?: string,
  ) {}

  /** The user's home folder, absolute. Throws `CaiError('CONFIG')` for a user without one. */
  get home(): string {
    return (this.#home ??= homeOf(this.env));
  }

  /** Throws as `home` does. */
  get folders(): OwnFolders {
    return (this.#folders ??= foldersOf(this));
  }

  /**
   * The folder that a variable of the XDG Base Directory Specification names, or else the one at `standard` in the home
   * folder. A relative value counts as unset, as the specification says. Throws as `home` does.
   */
  baseFolder(variable: string, standard: string): string {
    return absolute(this.env[variable]) ?? posix.join(this.home, standard);
  }

  /** As `env`, without what is for `cai` alone. */
  get envForOthers(): NodeJS.ProcessEnv {
    const own: readonly string[] = [workspacesVariable, servedVariable];
    return Object.fromEntries(Object.entries(this.env).filter(([name]) => !own.includes(name)));
  }

  /** Started by `cai serve`: the editor may be on another machine. */
  get isServed(): boolean {
    return this.env[servedVariable] === '1';
  }

  /**
   * Real paths of the folders in which every workspace must lie; `undefined`: anywhere. Throws `CaiError('CONFIG')` for
   * a variable that does not say it.
   */
  get workspaces(): readonly string[] | undefined {
    return (this.#workspaces ??= workspacesIn(this.env[workspacesVariable]));
  }

  /** Whom this process runs as. */
  get user(): { readonly uid: number; readonly gid: number } {
    return { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  }

  /** The current folder, where we were started; `/`, which holds no project and no program, for one that is gone. */
  get cwd(): string {
    return this.folder ?? unlessFails(() => process.cwd()) ?? '/';
  }

  /** Whether a person types what we read and sees what we print. */
  get isOnTerminal(): boolean {
    // Node's streams know better, and take time to load.
    return fstatSync(0).isCharacterDevice() && process.stdin.isTTY && process.stdout.isTTY;
  }
}

/**
 * The user whose id this process has, by the user database, which a changed `HOME` does not move;
 * `undefined` for an id that has no entry there.
 */
export function passwdUser(): { readonly uid: number; readonly homedir: string } | undefined {
  // It fails in containers that are given an arbitrary user id.
  return unlessFails(() => userInfo());
}

function homeOf({ HOME }: NodeJS.ProcessEnv): string {
  const home = absolute(HOME) ?? passwdUser()?.homedir;
  if (home !== undefined) return home;
  throw new CaiError(
    'CONFIG',
    'no home folder: HOME is not set, and the user has no entry in the user database',
  );
}

function foldersOf(host: Host): OwnFolders {
  const runtime = absolute(host.env.XDG_RUNTIME_DIR);
  return {
    config: posix.join(host.baseFolder('XDG_CONFIG_HOME', '.config'), 'containai'),
    state: posix.join(host.baseFolder('XDG_STATE_HOME', '.local/state'), 'containai'),
    ...(runtime !== undefined && { runtime: posix.join(runtime, 'containai') }),
  };
}

function workspacesIn(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const list = unlessFails<unknown>(() => JSON.parse(text));
  const isPath = (each: unknown): boolean => typeof each === 'string' && each.startsWith('/');
  if (Array.isArray(list) && list.every(isPath)) return list as string[];
  throw new CaiError('CONFIG', `${workspacesVariable} must be a JSON list of absolute paths`);
}

function absolute(path: string | undefined): string | undefined {
  return path?.startsWith('/') === true ? path : undefined;
}
