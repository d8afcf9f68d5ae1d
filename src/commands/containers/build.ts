/** `cai build`: makes the image of an agent, also if there is one. */
import { resolve } from 'node:path';
import type { Host } from '../../system/host';
import { findEngine } from '../../container/engine/find-engine';
import { buildImage } from '../../container/image/image';
import { imageTagOf } from '../../container/image/image-tag';
import { imageRequestOf } from '../../container/image/image-request';
import { openProgress } from '../../container/image/progress';
import { loadWorkspaceConfig } from '../../config/effective-config';
import { findWorkspace } from '../../workspace/root';
import { common, declare, namedAgent } from '../support/command';
import { briefly, chosenAgent, type TargetOptions } from './target';

/** `cache`: commander's form of `--no-cache`. */
type Options = Pick<TargetOptions, 'agent' | 'context' | 'quiet'> &
  Readonly<{ workspace?: string; cache: boolean; upgrade?: true }>;

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
  const engine = await findEngine(host, config.engine, options.context).connect();
  const request = imageRequestOf(host, config, root, agent);
  const how = { noCache: !options.cache, upgrade: options.upgrade === true };
  const beganAt = Date.now();
  const { id } = await buildImage(engine.images, request, how, progress);
  const seconds = Math.round((Date.now() - beganAt) / 1_000);
  progress.say(
    `${imageTagOf(request)} is ready after ${seconds} s: ${id.replace('sha256:', '').slice(0, 12)}`,
  );
  return 0;
}
