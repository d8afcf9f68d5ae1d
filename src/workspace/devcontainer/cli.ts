/** `@devcontainers/cli`, in its own process that gets nothing of this one: it builds the image, and starts nothing. */
import { spawn } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { createInterface } from 'node:readline';
import { CaiError, messageOf } from '../../errors';
import { packageFile } from '../../system/files/package-file';
import { buildSettings } from './build-settings';
import type { Devcontainer, LocalEnv } from './devcontainer';
import { makeFolder } from '../../system/files/make-folder';
import { isRunning, ownIdentity } from '../../system/process-identity';
import { unlessFails, writing } from '../../system/unless';

/** Where Docker's own programs find the engine. */
export interface EngineEndpoint {
  /** As `DOCKER_HOST` has it. */
  readonly url: string;
  /** PEM, by the names that Docker's programs look for; absent: it is reached without TLS. */
  readonly certificates?: Readonly<Record<string, Buffer>>;
}

export interface DevcontainerBuild {
  readonly devcontainer: Devcontainer;
  /** What its variables may stand for. */
  readonly localEnv: LocalEnv;
  readonly tag: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly docker: string;
  readonly endpoint: EngineEndpoint;
  /** Names and addresses of proxies, as the environment has them. */
  readonly proxies: Readonly<Record<string, string>>;
  /** File with certificates to trust as well. */
  readonly caFile: string | undefined;
  readonly isFresh: boolean;
  /** Whether its steps use the network of the engine's machine. */
  readonly usesHostNetwork: boolean;
}

/** What the names of builds' folders begin with. */
const prefix = 'cai-devcontainer-';
/** The file in there that names the process. */
const ownerFile = 'process';
/** No build takes as long, in milliseconds. */
const leftMs = 24 * 60 * 60_000;

/** Most that is told of a build that fails. */
const tailLines = 20;

/**
 * Builds the image of a development container from a copy of the files as they were read, in which the devcontainer.json
 * has only what `buildSettings` leaves of it. `onLine` gets what the builder prints. Rejects with `CaiError('IMAGE')`.
 */
export async function buildDevcontainer(
  build: DevcontainerBuild,
  onLine: (line: string) => void,
): Promise<void> {
  const { devcontainer, localEnv, labels, usesHostNetwork } = build;
  const folder = writing(tmpdir(), () => mkdtempSync(join(tmpdir(), prefix)));
  try {
    writeFileSync(join(folder, ownerFile), ownIdentity());
    const place = (name: string) => {
      makeFolder(join(folder, name), 0o777);
      return join(folder, name);
    };
    const workspace = place('workspace');
    devcontainer.files.writeTo(workspace);
    const file = join(workspace, posix.relative(devcontainer.root, devcontainer.file));
    const options = [
      ...(usesHostNetwork ? ['--network=host'] : []),
      ...Object.entries(labels).map(([name, value]) => `--label=${name}=${value}`),
    ];
    writeFileSync(file, JSON.stringify(buildSettings(devcontainer, localEnv, options)));
    const env = environmentOf(build, place('home'), place('tmp'));
    await run(argumentsOf(build, { workspace, file, data: place('data') }), workspace, env, onLine);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Folders of builds of that user that were ended, which nobody uses any more. */
export function leftBuildFolders(user: number): string[] {
  const names = unlessFails(() => readdirSync(tmpdir())) ?? [];
  const folders = names.filter((name) => name.startsWith(prefix)).map((name) => join(tmpdir(), name));
  return folders.filter((folder) => unlessFails(() => isLeft(folder, user)) === true);
}

function isLeft(folder: string, user: number): boolean {
  const { uid, mtimeMs } = lstatSync(folder);
  const owner = unlessFails(() => readFileSync(join(folder, ownerFile), 'utf8'));
  const isUsed = isRunning(owner ?? '') ?? Date.now() - mtimeMs < leftMs;
  return uid === user && !isUsed;
}

/** Nothing of this process: what a repository says could have it sent away. */
function environmentOf({ docker, endpoint, proxies, caFile }: DevcontainerBuild, home: string, tmp: string) {
  const settings = join(home, '.docker');
  mkdirSync(settings);
  const { http_proxy: httpProxy, https_proxy: httpsProxy, no_proxy: noProxy } = proxies;
  // By these the command hands proxies on to the steps of a build.
  const config = { proxies: { default: { httpProxy, httpsProxy, noProxy } } };
  writeFileSync(join(settings, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  for (const [name, pem] of Object.entries(endpoint.certificates ?? {}))
    writeFileSync(join(settings, name), pem, { mode: 0o600 });
  return {
    PATH: `${dirname(docker)}:/usr/bin:/bin`,
    HOME: home,
    // In the folder that all users share, somebody else could make its folders before it.
    TMPDIR: tmp,
    DOCKER_HOST: endpoint.url,
    DOCKER_CONFIG: settings,
    ...(endpoint.certificates && { DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: settings }),
    ...proxies,
    ...(caFile !== undefined && { NODE_EXTRA_CA_CERTS: caFile }),
  };
}

function argumentsOf(
  { tag, docker, isFresh }: DevcontainerBuild,
  { workspace, file, data }: Readonly<Record<'workspace' | 'file' | 'data', string>>,
): string[] {
  return [
    packageFile('dist/devcontainers-cli/devcontainer.js'),
    'build',
    ...['--workspace-folder', workspace, '--config', file, '--image-name', tag],
    ...['--docker-path', docker, '--user-data-folder', data],
    ...(isFresh ? ['--no-cache'] : []),
  ];
}

async function run(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
  onLine: (line: string) => void,
): Promise<void> {
  const tail: string[] = [];
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      tail.push(line);
      if (tail.length > tailLines) tail.shift();
      onLine(line);
    });
  const ended = await new Promise<string | number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status, signal) => resolve(signal ?? status));
  }).catch((reason: unknown) => messageOf(reason));
  if (ended === 0) return;
  const what = `the image of the development container cannot be built (${ended}):`;
  throw new CaiError('IMAGE', [what, ...tail].join('\n'));
}
