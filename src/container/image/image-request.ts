/** What the image of an agent is made from. */
import { readFileSync } from 'node:fs';
import type { Host } from '../../system/host';
import { catalog } from '../../agent/catalog';
import { AgentFolders } from '../../paths/agent-folders';
import { checkFilePath } from '../../config/chosen-path';
import { loadConfig, type Config, type HostNetwork } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { CaiError, messageOf } from '../../errors';
import { packageFile } from '../../system/package-file';
import { shortHash, type ImageOwner } from './image-tag';

/** What decides about an image. */
export interface ImageRequest extends ImageOwner, Pick<Config, 'image'> {
  /** How to get what it is made from. */
  readonly network: HostNetwork;
  /** The npm packages that it needs. */
  readonly packages: readonly string[];
  /** Our own state folder. */
  readonly stateFolder: string;
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
  const { base, dockerfile } = loadConfig(host).image;
  const folders = new AgentFolders(host.folders.state, root === undefined ? [] : [root]);
  const check = (key: string, path: string | undefined) =>
    path !== undefined && checkFilePath(host, { key, path, root }, folders);
  check('network.ca_file', config.network.caFile);
  // That of a repository is read when the user is asked to trust it.
  if (config.image.dockerfileText === undefined) check('image.dockerfile', config.image.dockerfile);
  const isUsersOwn = config.image.base === base && config.image.dockerfile === dockerfile;
  return {
    agent,
    packages: configured?.packages ?? known?.packages ?? [],
    image: config.image,
    network: config.network,
    stateFolder: host.folders.state,
    registry: config.image.registry,
    ...(root !== undefined && !isUsersOwn && { repository: root }),
  };
}

/**
 * The texts that an image is made from: our own `dockerfile`, and the user's `addition`, which builds on the image of
 * ours; and the `hash` of both, the base image and the packages. Fails with `CaiError('IMAGE')`.
 */
export function readRecipe({ packages, image }: ImageRequest) {
  const dockerfile = readFileSync(packageFile('Dockerfile'), 'utf8');
  const { dockerfile: path } = image;
  const addition =
    image.dockerfileText ?? (path === undefined ? undefined : readSetting('image.dockerfile', path));
  return { dockerfile, addition, hash: shortHash([dockerfile, packages, image.base, addition]) };
}

/** Fails with `CaiError('IMAGE')` for an image that would lack its agent, or an addition that does not build on ours. */
export function checkPossible(
  { agent, packages, image }: ImageRequest,
  { addition }: ReturnType<typeof readRecipe>,
): void {
  if (packages.length === 0 && addition === undefined && Object.hasOwn(catalog, agent)) {
    const remedy = `write a Dockerfile that adds it, and name that file as "dockerfile" in [image] of the configuration`;
    throw new CaiError('IMAGE', `${agent} cannot be installed from npm: ${remedy}`);
  }
  if (addition !== undefined && !/^\s*FROM\s.*\bCAI_IMAGE\b/im.test(addition)) {
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
  try {
    return readFileSync(path, 'utf8');
  } catch (reason) {
    const remedy = 'put it there, or correct or remove that key ("cai config" tells the line)';
    throw new CaiError(
      'IMAGE',
      `"${key}" names ${path}, which cannot be read: ${messageOf(reason)}: ${remedy}`,
    );
  }
}
