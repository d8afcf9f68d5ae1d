/** The image that a devcontainer.json describes, before anything of ours is in it. */
import { needsLoopback, proxyVariables } from '../../network';
import type { HostNetwork } from '../../config/config';
import { buildDevcontainer } from '../../workspace/devcontainer/cli';
import type { BesideService } from '../../workspace/devcontainer/compose/beside';
import { featureTitle, ignoredNotice } from '../../workspace/devcontainer/ignored';
import { textOf } from '../../workspace/devcontainer/json';
import { metadataLabel, metadataOf } from '../../workspace/devcontainer/metadata';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { imageNow, type ImageStore } from '../engine/image-store';
import type { ImageInfo } from '../engine/engine-info';
import { whileLocked } from './build-lock';
import type { DevcontainerRequest, ImageRequest } from './image-request';
import { imageLabel } from './image-tag';
import type { Progress } from './progress';

/** Builds exclude each other: the builder gives what it makes on the way names that are the same for all. */
export const builderLock = 'devcontainer';

interface DevcontainerBuild {
  readonly tag: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly network: HostNetwork;
  readonly request: DevcontainerRequest;
  readonly isFresh: boolean;
}

/** Says what is ignored; resolves with the user that the image is made for. Rejects with `CaiError('IMAGE')`. */
export async function buildDevcontainerImage(
  images: ImageStore,
  { tag, labels = {}, network, request, isFresh }: DevcontainerBuild,
  progress: Progress,
): Promise<string> {
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
      ...{ localEnv, tag, labels, docker, endpoint, isFresh },
      proxies: Object.fromEntries(proxyVariables(network)),
      caFile: network.caFile,
      usesHostNetwork: needsLoopback(network),
    },
    (text) => progress.report({ kind: 'log', text }),
  );
  const made = await imageNow(images, tag, 'built');
  const { user, entries } = metadataOf(made.labels[metadataLabel]);
  for (const entry of entries) {
    const id = textOf(entry.id);
    const notices = ignoredNotice(id === undefined ? 'the image' : featureTitle(id), entry);
    // Those of the repository's own features were said before.
    for (const notice of notices) if (!content.ignored.includes(notice)) progress.say(notice);
  }
  return user ?? made.user ?? 'root';
}

/** The services of the workspace's development container whose images are built. */
function builtServices({ devcontainer }: ImageRequest): BesideService[] {
  return devcontainer?.content.services.filter(({ build }) => build !== undefined) ?? [];
}

/**
 * The image of such a service, built if it is missing; `undefined`: none of them has an image of that name. Rejects with
 * `CaiError('IMAGE')`.
 */
export async function provideServiceImage(
  images: ImageStore,
  request: ImageRequest,
  tag: string,
  progress: Progress,
): Promise<ImageInfo | undefined> {
  const service = builtServices(request).find(({ table }) => table.image === tag);
  if (service === undefined) return undefined;
  if (!request.image.autoBuild)
    throw new CaiError(
      'IMAGE',
      `there is no image of the service ${quoted(service.name)}, and "image.auto_build" is off: run: cai build --workspace ${quoted(request.devcontainer!.content.root)}`,
    );
  return await whileLocked(request.stateFolder, builderLock, progress, async () => {
    if ((await images.find(tag)) === undefined) await buildService(images, request, service, progress, false);
    return await images.find(tag);
  });
}

/** Builds the images of all such services, also those that are there. Rejects with `CaiError('IMAGE')`. */
export async function buildServiceImages(
  images: ImageStore,
  request: ImageRequest,
  isFresh: boolean,
  progress: Progress,
): Promise<void> {
  for (const service of builtServices(request))
    await whileLocked(request.stateFolder, builderLock, progress, () =>
      buildService(images, request, service, progress, isFresh),
    );
}

async function buildService(
  images: ImageStore,
  { devcontainer, network }: ImageRequest,
  { name, build, table }: BesideService,
  progress: Progress,
  isFresh: boolean,
): Promise<void> {
  const { content } = devcontainer!;
  const labels = {
    [imageLabel.recipe]: content.digest,
    [imageLabel.devcontainer]: content.digest,
    [imageLabel.repository]: content.root,
  };
  // Of the development container, it has nothing but the files.
  const own = { ...content, source: build!, settings: {}, ignored: [] };
  const request = { ...devcontainer!, content: own };
  const wanted = { tag: table.image as string, labels, network, request, isFresh };
  try {
    await buildDevcontainerImage(images, wanted, progress);
  } catch (reason) {
    if (!(reason instanceof CaiError)) throw reason;
    throw new CaiError('IMAGE', `the service ${quoted(name)}: ${reason.message}`, undefined, {
      cause: reason,
    });
  }
}

function impossible(why: string): CaiError {
  const otherwise = 'or set "devcontainer.use" to false for cai\'s own environment';
  return new CaiError('IMAGE', `the development container cannot be built, because ${why}, ${otherwise}`);
}
