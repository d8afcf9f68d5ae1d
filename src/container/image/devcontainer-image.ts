/** The image that a devcontainer.json describes, before anything of ours is in it. */
import { needsLoopback, proxyVariables } from '../../network';
import type { HostNetwork } from '../../config/config';
import { buildDevcontainer } from '../../workspace/devcontainer/cli';
import { ignoredNotice } from '../../workspace/devcontainer/ignored';
import { textOf } from '../../workspace/devcontainer/json';
import { metadataLabel, metadataOf } from '../../workspace/devcontainer/metadata';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import type { ImageStore } from '../engine/image-store';
import type { DevcontainerRequest } from './image-request';
import type { Progress } from './progress';

interface Wanted {
  readonly tag: string;
  readonly network: HostNetwork;
  readonly request: DevcontainerRequest;
}

export class DevcontainerImage {
  constructor(
    private readonly images: ImageStore,
    private readonly wanted: Wanted,
    private readonly progress: Progress,
  ) {}

  /** Says what is ignored; resolves with the user that the image is made for. Rejects with `CaiError('IMAGE')`. */
  async run(isFresh: boolean): Promise<{ readonly user: string }> {
    const { images, progress } = this;
    const { tag, network, request } = this.wanted;
    const { content, localEnv, docker } = request;
    for (const notice of content.ignored) progress.say(notice);
    const { endpoint } = images;
    if (endpoint === undefined) throw impossible("Docker's command line cannot reach the engine as cai does");
    if (docker === undefined)
      throw impossible(
        'there is no program "docker" on PATH outside of the folders that agents can write: install it',
      );
    progress.begin(`building ${tag}`);
    await buildDevcontainer(
      {
        devcontainer: content,
        ...{ localEnv, tag, docker, endpoint, isFresh },
        proxies: Object.fromEntries(proxyVariables(network)),
        caFile: network.caFile,
        usesHostNetwork: needsLoopback(network),
      },
      (text) => progress.report({ kind: 'log', text }),
    );
    const made = await images.find(tag);
    if (made === undefined) throw new CaiError('IMAGE', `${tag} was built, but the engine does not have it`);
    const { user, entries } = metadataOf(made.labels[metadataLabel]);
    for (const entry of entries) {
      const id = textOf(entry.id);
      const of = id === undefined ? 'the image' : `the feature ${quoted(id)}`;
      for (const notice of ignoredNotice(of, entry)) progress.say(notice);
    }
    return { user: user ?? made.user ?? 'root' };
  }
}

function impossible(why: string): CaiError {
  const otherwise = 'or set "devcontainer.use" to false for cai\'s own environment';
  return new CaiError('IMAGE', `the development container cannot be built, because ${why}, ${otherwise}`);
}
