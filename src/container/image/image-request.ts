import { catalog } from '../../agent/catalog';
import { AgentFolders } from '../../paths/agent-folders';
import { checkFilePath } from '../../config/chosen-path';
import { loadConfig } from '../../config/config';
import type { Config } from '../../config/config';
import { ownFolders } from '../../system/cai-folders';
import { ownValue } from '../../config/own-property';
import type { ImageRequest } from './image';

/**
 * What the image of an agent is to be, by the configuration in effect for the workspace at `root` or
 * without one. Fails with `CaiError('CONFIG')` for a file that an agent could put another in the place of.
 */
export function imageRequestOf(
  env: NodeJS.ProcessEnv,
  config: Config,
  root: string | undefined,
  agent: string,
): ImageRequest {
  const configured = ownValue(config.agents, agent);
  const known = ownValue(catalog, agent);
  const { base, dockerfile } = loadConfig(env).image;
  const folders = new AgentFolders(env, root === undefined ? [] : [root]);
  const check = (key: string, path: string | undefined) =>
    path !== undefined && checkFilePath(env, { key, path, root }, folders);
  check('network.ca_file', config.network.caFile);
  // That of a repository is read when the user is asked to trust it.
  if (config.image.dockerfileText === undefined) check('image.dockerfile', config.image.dockerfile);
  const isUsersOwn = config.image.base === base && config.image.dockerfile === dockerfile;
  return {
    agent,
    packages: configured?.packages ?? known?.packages ?? [],
    image: config.image,
    network: config.network,
    stateFolder: ownFolders(env).state,
    ...(root !== undefined && !isUsersOwn && { repository: root }),
  };
}
