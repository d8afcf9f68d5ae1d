/** `cai build`: makes the image of an agent, also if there is one. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { findEngine } from '../../container/engine/find-engine';
import { buildServiceImages } from '../../container/image/devcontainer-image';
import { buildImage, pushImage } from '../../container/image/image';
import { imageTagOf, shortId } from '../../container/image/image-tag';
import { imageRequestOf } from '../../container/image/image-request';
import { openProgress } from '../../container/image/progress';
import { Registry } from '../../container/registry/registry';
import { configFileOf, type Config } from '../../config/config';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { CaiError } from '../../errors';
import { findWorkspace } from '../../workspace/root';
import { common, declare, namedAgent } from '../support/command';
import { chosenAgent, type TargetOptions } from './target';
import { briefly } from './voice';

/** `cache`: commander's form of `--no-cache`. */
type Options = Pick<TargetOptions, 'agent' | 'context' | 'quiet'> &
  Readonly<{ workspace?: string; cache: boolean; upgrade?: true; push?: true }>;

/** Says on stderr how far it is; resolves with 0 when the image is there. */
export const run = declare<Options>({
  name: 'build',
  description: `Builds the image of an agent. A missing image is built when it is first needed; this rebuilds one after an
update or a change of the configuration. Containers are recreated from it once nothing runs in them.`,
  arguments: [['[agent]', 'name of the agent (default: "agent.default" in the configuration)']],
  options: [
    ['-a, --agent <name>', 'the same'],
    ['-w, --workspace <folder>', 'use the configuration of that workspace, as far as you trust it'],
    ['--no-cache', 'fetch everything again'],
    ['--upgrade', 'use the newest base image, Debian packages and agents instead of the tested versions'],
    ['--push', 'then give it to the registry that "registry" in [image] of the configuration names'],
    common.context,
    common.quiet,
  ],
  action: (options, host, [agent]) => build(options, host, namedAgent(agent, options.agent)),
});

async function build(options: Options, host: Host, named: string | undefined): Promise<number> {
  const { workspace: folder } = options;
  const root = folder === undefined ? undefined : (await findWorkspace(resolve(folder), { host })).root;
  const found = loadWorkspaceConfig(host, root);
  const { config } = found;
  const progress = openProgress(process.stderr, options.quiet === true);
  for (const notice of briefly(found)) progress.say(notice);
  const { name: agent } = chosenAgent(named, config, host, root);
  const request = imageRequestOf(host, config, root, agent);
  const isPushed = options.push === true;
  if (isPushed && request.registry === undefined) throw noRegistry(host);
  const engine = await findEngine(host, builderOf(config, isPushed), options.context).connect();
  const how = { noCache: !options.cache, upgrade: options.upgrade === true };
  const beganAt = Date.now();
  const { id } = await buildImage(engine.images, request, how, progress);
  await buildServiceImages(engine.images, request, how.noCache || how.upgrade, progress);
  const seconds = Math.round((Date.now() - beganAt) / 1_000);
  progress.say(`${imageTagOf(request)} is ready after ${seconds} s: ${shortId(id)}`);
  if (isPushed) {
    const pushed = await pushImage(engine.images, request, new Registry(host, config.network), progress);
    progress.say(`the registry has it: ${pushed}`);
  }
  return 0;
}

/** A cluster builds nothing; what the configuration says about it says nothing about the engine of this machine. */
function builderOf(config: Config, isPushed: boolean): Config | undefined {
  if (config.engine.kind !== 'kubernetes') return config;
  if (isPushed) return undefined;
  throw new CaiError(
    'USAGE',
    'with kind = "kubernetes" in [engine], images come from a registry: --push builds it with Docker or podman, and gives it to that registry',
  );
}

function noRegistry(host: Host): CaiError {
  const example = 'registry = "ghcr.io/team/cai"';
  return new CaiError(
    'CONFIG',
    `${configFileOf(host)}: --push needs to know the registry: add it to [image], as in ${example}`,
  );
}
