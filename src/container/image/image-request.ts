/** What the image of an agent is made from. */
import { readFileSync } from 'node:fs';
import type { Host } from '../../system/host';
import { catalog, installationFor } from '../../agent/catalog';
import { AgentFolders } from '../../system/paths/agent-folders';
import { checkFilePath } from '../../config/chosen-path';
import { loadConfig, type Config, type HostNetwork } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { buildSettings } from '../../workspace/devcontainer/build-settings';
import type { Devcontainer, LocalEnv } from '../../workspace/devcontainer/devcontainer';
import { CaiError } from '../../errors';
import { safeProgram } from '../../system/paths/safe-program';
import { packageFile } from '../../system/files/package-file';
import { reading } from '../../system/unless';
import { worktreeAt } from '../../workspace/worktrees/worktrees';
import { environmentTagOf, shortHash, type ImageOwner } from './image-tag';

/** The Dockerfile of the environment ends so where Chromium is installed: others find it by these variables. */
const browserVariables = `
ENV CHROME_BIN=/usr/bin/chromium CHROME_PATH=/usr/bin/chromium PUPPETEER_EXECUTABLE_PATH=/usr/bin/chromium
`;

export interface ImageRequest extends ImageOwner, Pick<Config, 'image'> {
  readonly network: HostNetwork;
  readonly packages: readonly string[];
  readonly stateFolder: string;
  /** The development container that takes the place of our own environment; absent: our environment is used. */
  readonly devcontainer?: DevcontainerRequest;
}

/** What decides about the image of a development container. */
export interface DevcontainerRequest {
  /** As the user trusts it. */
  readonly content: Devcontainer;
  /** What its variables may stand for. */
  readonly localEnv: LocalEnv;
  /** The user whose files it is to work with. */
  readonly hostUser: Host['user'];
  /** The program `docker` of this machine; `undefined`: it is missing, or an agent could have put it there. */
  readonly docker: string | undefined;
}

/**
 * What the image of an agent is to be, by the configuration in effect for the workspace at `root` or
 * without one. Fails with `CaiError('CONFIG')` for a file that an agent could put another in the place of.
 */
export function imageRequestOf(
  host: Host,
  config: Config,
  root: string | undefined,
  agent: string,
): ImageRequest {
  const configured = ownValue(config.agents, agent);
  const known = ownValue(catalog, agent);
  const installation = installationFor(agent, config.agents, host);
  const own = loadConfig(host).image;
  const folders = new AgentFolders(host.folders.state, root === undefined ? [] : [root]);
  const check = (key: string, path: string | undefined) =>
    path !== undefined && checkFilePath(host, { key, path, root }, folders);
  check('network.ca_file', config.network.caFile);
  // That of a repository is read when the user is asked to trust it.
  if (config.image.dockerfileText === undefined) check('image.dockerfile', config.image.dockerfile);
  const said = ({ base, dockerfile, apt, packages }: Config['image']) =>
    JSON.stringify([base, dockerfile, apt, packages]);
  const isUsersOwn = said(config.image) === said(own);
  const devcontainer = devcontainerOf(host, config);
  // A worktree with the same files has the image of its repository, which is there already.
  const origin =
    isUsersOwn && root !== undefined ? worktreeAt(host.folders.state, root)?.repository : undefined;
  return {
    agent,
    packages: configured?.packages ?? known?.packages ?? [],
    image: config.image,
    network: config.network,
    stateFolder: host.folders.state,
    registry: config.image.registry,
    ...(root !== undefined && (!isUsersOwn || devcontainer !== undefined) && { repository: origin ?? root }),
    ...(devcontainer !== undefined && { devcontainer, madeFrom: madeFromOf(devcontainer) }),
    ...(installation !== undefined && { installation }),
  };
}

function devcontainerOf(host: Host, { devcontainer, env }: Config): DevcontainerRequest | undefined {
  const content = devcontainer.trusted;
  if (content === undefined) return undefined;
  const localEnv = env.import.flatMap((name) => {
    const value = host.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const docker = safeProgram('docker', host);
  return { content, localEnv: Object.fromEntries(localEnv), hostUser: host.user, docker };
}

/** Variables only count as far as it names them. */
function madeFromOf({ content, localEnv }: DevcontainerRequest): string {
  return shortHash([content.digest, buildSettings(content, localEnv, [])]);
}

/**
 * What an image is made from: the `environment`, which others may have as well, the layer of the agent on top of it, and
 * the user's `addition`, which builds on both; `hash` tells images apart, also that of their environment. Fails with
 * `CaiError('IMAGE')`.
 */
export function readRecipe({ packages, image, installation, devcontainer, madeFrom }: ImageRequest) {
  const read = (name: string) => readFileSync(packageFile(name), 'utf8');
  const hasBrowser = image.apt.some((each) => /^chromium(?:=|$)/.test(each));
  const dockerfile = read('Dockerfile') + (hasBrowser ? browserVariables : '');
  const agentDockerfile = read('src/container/image/agent.Dockerfile');
  const npmInstall = read('src/container/image/npm-install.cjs');
  const installer = installation && read('src/container/image/registry-agent.sh');
  const listed = installation === undefined ? [] : [installation, installer];
  const { dockerfile: path } = image;
  const addition =
    image.dockerfileText ?? (path === undefined ? undefined : readSetting('image.dockerfile', path));
  const ofDevcontainer = devcontainer && {
    dockerfile: read('src/container/image/devcontainer.Dockerfile'),
    setUp: read('src/container/image/set-up'),
    tag: `containai-devcontainer:${madeFrom}`,
  };
  const ofEnvironment = shortHash(
    ofDevcontainer === undefined
      ? [dockerfile, image.base, image.apt, image.packages]
      : [ofDevcontainer, image.base, devcontainer?.hostUser],
  );
  return {
    environment: { dockerfile, hash: ofEnvironment, tag: environmentTagOf(ofEnvironment) },
    devcontainer: ofDevcontainer,
    agentDockerfile,
    npmInstall,
    installer,
    addition,
    hash: shortHash([ofEnvironment, agentDockerfile, npmInstall, packages, addition, ...listed]),
  };
}

/** Fails with `CaiError('IMAGE')` for an image that would lack its agent, or an addition that does not build on ours. */
export function checkPossible(
  { agent, packages, image, installation }: ImageRequest,
  { addition }: ReturnType<typeof readRecipe>,
): void {
  const isThere = packages.length > 0 || installation !== undefined || addition !== undefined;
  if (!isThere && Object.hasOwn(catalog, agent)) {
    const remedy = `run "cai agents update", which may find it in the registry of agents; or write a Dockerfile that adds it, and name that file as "dockerfile" in [image] of the configuration`;
    throw new CaiError(
      'IMAGE',
      `${agent} is not on npm, and not in the registry of agents that is here: ${remedy}`,
    );
  }
  if (addition !== undefined && !/^[ \t]*FROM[ \t].*\bCAI_IMAGE\b/im.test(addition)) {
    const remedy = 'it has to begin with the lines "ARG CAI_IMAGE" and "FROM ${CAI_IMAGE}"';
    throw new CaiError('IMAGE', `${image.dockerfile} does not build on our image: ${remedy}`);
  }
}

/** The newest version of an npm package that an agent needs. Only the versions that we have chosen are ours to change. */
export function newest(agent: string, name: string): string {
  const isOurs = ownValue(catalog, agent)?.packages.includes(name) === true;
  return isOurs ? name.replace(/(?<=.)@[^@/]*$/, '@latest') : name;
}

/** The text of a file that the configuration names by `key`. Fails with `CaiError('IMAGE')`. */
export function readSetting(key: string, path: string): string {
  const remedy = 'put it there, or correct or remove that key ("cai config" tells the line)';
  return reading(`"${key}" names ${path}, which`, () => readFileSync(path, 'utf8'), 'IMAGE', remedy);
}
