/**
 * What the engine tests share: an ordinary user who has `cai` installed, folders of that user, and the end
 * of everything that was made. `CAI_TEST_USER` names a user for each of jest's workers; only root can be
 * somebody else.
 */
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { isIP } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { serviceOf } from '../../src/network/keys/services';
import { isInternal } from '../../src/network/egress/addresses';
import { kubeconfig, onCluster, removeNamespace } from './cluster';
import { isKubernetes } from './engines';
import { Running, type Ended } from './running';

const repository = resolve(__dirname, '../..');

/** Whom `cai` runs as. */
export const user = idsOf(process.env.CAI_TEST_USER);

/** Real path of the folder that holds all of this test file: readable for the user, and removed afterwards. */
export const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-engine-')));

const started: Running[] = [];
let lastHome = 0;
let lastWorkspace = 0;

afterAll(async () => {
  for (const each of started) each.child.kill('SIGKILL');
  await Promise.allSettled(started.map((each) => each.ended));
  await removeEverything();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

/** Where npm finds packages. */
export const registry = new URL(
  process.env.CAI_TEST_NPM_REGISTRY ?? `https://${serviceOf({ for: 'npm' }).hosts[0]}/`,
);
const registryAddresses = internalRules(registry.hostname);

/** `cai` as a package manager would have installed it. */
const bin = join(install(), 'bin/cai');

/** How a run differs from the usual. */
export interface RunOptions {
  /** Environment besides the user's own; undefined takes a variable away. */
  readonly env?: NodeJS.ProcessEnv;
  /** Working directory; default: the user's home folder. */
  readonly cwd?: string;
}

/** A user's `cai`: with a home folder of its own, and with a configuration that reaches this machine's mirrors. */
export class Cai {
  /** The home folder, which holds the XDG folders as well. */
  readonly home = join(folder, `home-${++lastHome}`);
  /** The user's whole environment. */
  readonly env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    CAI_NO_UPDATE_CHECK: '1',
    HOME: this.home,
    XDG_CONFIG_HOME: join(this.home, 'config'),
    XDG_STATE_HOME: join(this.home, 'state'),
    XDG_CACHE_HOME: join(this.home, 'cache'),
    XDG_RUNTIME_DIR: join(this.home, 'run'),
    ...(process.env.DOCKER_HOST !== undefined && { DOCKER_HOST: process.env.DOCKER_HOST }),
    ...(process.env.CAI_WAY_IN !== undefined && { CAI_WAY_IN: process.env.CAI_WAY_IN }),
  };
  /** How it is started. */
  command: readonly [string, ...string[]] = [process.execPath, bin];
  /** Where the user's configuration stands. */
  readonly configFile = join(this.home, 'config/containai/config.toml');

  /** `config` is what else the user has configured, TOML; its first lines are of the table `network`. */
  constructor(config = '') {
    ownFolder(this.home);
    ownFolder(join(this.home, 'run'));
    chmodSync(join(this.home, 'run'), 0o700);
    if (isKubernetes) {
      this.env.KUBECONFIG = join(this.home, 'kubeconfig');
      ownFile(this.env.KUBECONFIG, kubeconfig());
    }
    this.configure(config);
  }

  /** Replaces what else the user has configured. */
  configure(config: string): void {
    const allow = /^allow = /m.test(config) ? '' : `allow = ${JSON.stringify(registryAddresses)}\n`;
    const whole = `${networkSettings()}${allow}${config}`;
    ownFile(this.configFile, isKubernetes ? onCluster(whole) : whole);
  }

  /** Starts `cai`; its stdin is open. */
  start(args: readonly string[], options: RunOptions = {}): Running {
    const [program, ...first] = this.command;
    return this.startProgram(program, [...first, ...args], options);
  }

  /** Runs `cai` on this input to its end, whatever that is, but no longer than `limitMs`. */
  async run(
    args: readonly string[],
    options: RunOptions & { readonly input?: string | Buffer; readonly limitMs?: number } = {},
  ): Promise<Ended> {
    const program = this.start(args, options);
    program.child.stdin.end(options.input ?? '');
    return await program.ends(options.limitMs);
  }

  /** `cai` on a terminal of its own, of which stdin and stdout are the other end. */
  startInTerminal(args: readonly string[], options: RunOptions = {}): Running {
    const words = [...this.command, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
    // Some agents draw one character a line on a terminal without a size.
    const line = `stty rows 40 cols 120; exec ${words.join(' ')}`;
    return this.startProgram('script', ['-qec', line, '/dev/null'], options);
  }

  /** Starts any program as this user; its stdin is open. */
  startProgram(file: string, args: readonly string[], options: RunOptions = {}): Running {
    const child = spawn(file, args, {
      cwd: options.cwd ?? this.home,
      env: { ...this.env, ...options.env },
      ...identity(),
    });
    const program = new Running([file, ...args].join(' '), child);
    started.push(program);
    return program;
  }
}

/** A new folder of the user with an empty git repository. */
export function newWorkspace(name = `workspace-${++lastWorkspace}`): string {
  const path = join(folder, name);
  ownFolder(path);
  execFileSync('git', ['init', '--quiet', path], { env: { PATH: process.env.PATH }, ...identity() });
  return path;
}

/** Makes a folder that belongs to the user, with those above it below `folder`. */
export function ownFolder(path: string): void {
  if (path === folder) return;
  ownFolder(dirname(path));
  mkdirSync(path, { recursive: true });
  chownSync(path, user.uid, user.gid);
}

/** Writes a file that belongs to the user, in a folder of the user below `folder`. */
export function ownFile(path: string, content: string | Buffer): void {
  ownFolder(dirname(path));
  writeFileSync(path, content);
  chownSync(path, user.uid, user.gid);
}

/** What Docker's own command line says, without white space around it; rejects when it fails. */
export async function docker(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('docker', args, { maxBuffer: 64 * 2 ** 20 });
  return stdout.trim();
}

/**
 * Removes the containers of workspaces below `folder`, those of the user without any workspace, and the
 * user's volumes that no container uses then.
 */
export async function removeEverything(): Promise<void> {
  if (isKubernetes) {
    removeNamespace();
    return;
  }
  const ours = ['--filter', 'label=containai.managed=true', '--filter', `label=containai.user=${user.uid}`];
  const format = '{{.ID}}:{{.Label "containai.workspace"}}';
  const filter = ['--filter', 'label=containai.service', '--filter', `label=containai.user=${user.uid}`];
  const services = linesOf(await docker('ps', '--all', '--quiet', ...filter));
  if (services.length > 0) await docker('rm', '--force', '--volumes', ...services);
  const containers = linesOf(await docker('ps', '--all', '--no-trunc', ...ours, '--format', format))
    .map((line) => ({ id: line.split(':', 1).join(), workspace: line.slice(line.indexOf(':') + 1) }))
    .filter(({ workspace }) => workspace === '' || workspace.startsWith(`${folder}/`));
  if (containers.length > 0) await docker('rm', '--force', ...containers.map(({ id }) => id));
  for (const volume of linesOf(await docker('volume', 'ls', '--quiet', ...ours))) {
    // One that somebody else's container uses stays.
    await docker('volume', 'rm', volume).catch(() => undefined);
  }
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}

/** The configuration with which builds and agents reach the mirrors that this machine reaches. */
function networkSettings(): string {
  const { CAI_TEST_CA_FILE: caFile, CAI_TEST_NPM_REGISTRY: npmRegistry } = process.env;
  const settings = Object.entries({ ca_file: caFile, npm_registry: npmRegistry });
  const lines = settings.flatMap(([key, value]) => (value ? [`${key} = ${JSON.stringify(value)}`] : []));
  return ['[network]', ...lines, ''].join('\n');
}

/** Rules for those addresses of the hosts that are not public, as where a mirror has a host's name. */
export function internalRules(...hostnames: readonly string[]): string[] {
  // Name and address, in columns; nothing, if it is not known.
  const found = hostnames.map((each) => spawnSync('getent', ['ahosts', each], { encoding: 'utf8' }).stdout);
  const addresses = found
    .join('')
    .split('\n')
    .map((line) => line.split(' ', 1).join());
  return [...new Set(addresses)]
    .filter((address) => isIP(address) !== 0 && isInternal(address))
    .map((address) => (isIP(address) === 6 ? `[${address}]` : address));
}

/** Copies what the package publishes; returns the folder. */
function install(): string {
  const installed = join(folder, 'package');
  const { files } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { files: string[] };
  for (const name of [...files, 'package.json']) {
    cpSync(join(repository, name), join(installed, name), { recursive: true });
  }
  // Neither what `mkdtemp` makes nor what is checked out here need be readable for others.
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  return installed;
}

/** What makes a child process run as the user. */
function identity(): { uid?: number; gid?: number } {
  return process.getuid?.() === user.uid ? {} : user;
}

/** Nobody is taken for granted: whoever it is loses containers and volumes. */
function idsOf(names = ''): { uid: number; gid: number } {
  const name = names.split(' ')[Number(process.env.JEST_WORKER_ID) - 1];
  if (!name)
    throw new Error('CAI_TEST_USER names nobody for this worker: start these tests by "npm run test:engine"');
  const id = (which: string): number => Number(execFileSync('id', [which, name], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
