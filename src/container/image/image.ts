/** The image of an agent: found, or built from the Dockerfile of this package and what the user adds. */
import { CaiError } from '../../errors';
import { commandWord } from '../../system/quoted';
import type { Engine } from '../engine/engine';
import type { ImageStore } from '../engine/image-store';
import type { ImageInfo } from '../engine/engine-info';
import type { Registry } from '../registry/registry';
import { ImageBuild, type BuildChoice } from './build';
import { whileLocked } from './build-lock';
import { readRecipe, type ImageRequest } from './image-request';
import { imageLabel, imageTagOf } from './image-tag';
import type { Progress } from './progress';

/**
 * The image, built if it is missing; of several processes one builds, and the others wait for it. One that
 * was built from something else is reported and used. Rejects with `CaiError('IMAGE')` where it may not or
 * cannot be built.
 */
export async function provideImage(
  engine: Pick<Engine, 'images' | 'about'>,
  request: ImageRequest,
  progress: Progress,
): Promise<ImageInfo> {
  const { images } = engine;
  const found = await images.find(imageTagOf(request));
  if (found !== undefined) {
    const notice = imageNotice(request, found);
    if (notice !== undefined) progress.say(notice);
    return found;
  }
  if (!(await engine.about()).can.build)
    throw new CaiError('IMAGE', Object.values(lackOf(request)).join(': '));
  if (!request.image.autoBuild) {
    const what = `there is no image ${imageTagOf(request)}, and "image.auto_build" is off`;
    throw new CaiError('IMAGE', `${what}: ${remedy(request)}`);
  }
  const usual = { noCache: false, upgrade: false };
  const unlessThere = async () =>
    (await images.find(imageTagOf(request))) ?? new ImageBuild(images, request, usual, progress).run();
  return await locked(request, progress, unlessThere);
}

/**
 * What to tell of an image that was built from something else than it would be now. Fails with `CaiError('IMAGE')`
 * where the user's Dockerfile cannot be read.
 */
export function imageNotice(request: ImageRequest, image: Pick<ImageInfo, 'labels'>): string | undefined {
  const recipe = image.labels[imageLabel.recipe];
  // An image without that label was made by other means, and that is how the user wants it.
  if (recipe === undefined || recipe === readRecipe(request).hash) return undefined;
  return `the image ${imageTagOf(request)} was built by another version or configuration: ${remedy(request)}`;
}

/**
 * Builds the image, also if there is one, with nothing from earlier builds (`noCache`) or with the newest base image,
 * Debian packages and agents (`upgrade`; packages that the user has named stay as named). Rejects with
 * `CaiError('IMAGE')`.
 */
export async function buildImage(
  images: ImageStore,
  request: ImageRequest,
  choice: BuildChoice,
  progress: Progress,
): Promise<ImageInfo> {
  return await locked(request, progress, () => new ImageBuild(images, request, choice, progress).run());
}

/** Gives the image that was built to the registry that its name begins with. Resolves with its name by digest. */
export async function pushImage(
  images: Pick<ImageStore, 'push'>,
  request: ImageRequest,
  registry: Pick<Registry, 'find' | 'login'>,
  progress: Progress,
): Promise<string> {
  const tag = imageTagOf(request);
  try {
    const login = await registry.login(tag);
    progress.begin(`pushing ${tag}`);
    await images.push(tag, login, (event) => progress.report(event));
  } catch (reason) {
    throw withLoginAdvice(reason, tag);
  } finally {
    progress.end();
  }
  const pushed = await registry.find(tag);
  if (pushed === undefined)
    throw new CaiError('IMAGE', `${tag} was pushed, but the registry does not have it`);
  return pushed.id;
}

/** Registries only say that they refuse. */
function withLoginAdvice(reason: unknown, tag: string): unknown {
  const isRefused = /\b(?:unauthorized|denied|forbidden|no basic auth|authentication required)\b/i;
  if (!(reason instanceof CaiError) || !isRefused.test(reason.message)) return reason;
  const advice = `See whether "registry" in [image] of your config.toml is right, and run: docker login ${tag.replace(/\/.*/, '')}`;
  return new CaiError('IMAGE', `${reason.message}\n${advice}`, undefined, { cause: reason });
}

/** What to say of a missing image where the engine takes images from a registry alone. */
export function lackOf(request: ImageRequest): Readonly<Record<'detail' | 'remedy', string>> {
  const { registry = 'REGISTRY' } = request;
  const push = `on a machine with Docker or podman, run: ${remedy({ ...request, registry })}`;
  if (request.registry === undefined)
    return {
      detail: `the image ${imageTagOf(request)} is in no registry`,
      remedy: `name one from which the cluster can pull as "registry" in [image] of your config.toml, and ${push}`,
    };
  return { detail: `there is no image ${imageTagOf(request)} in the registry`, remedy: push };
}

/** Where there is a registry, what it has is to be what is used. */
function remedy({ agent, repository, registry }: ImageRequest): string {
  const push = registry === undefined ? '' : ' --push';
  return `cai build ${agent}${push}${repository === undefined ? '' : ` --workspace ${commandWord(repository)}`}`;
}

async function locked<T>(request: ImageRequest, progress: Progress, work: () => Promise<T>): Promise<T> {
  return await whileLocked(request.stateFolder, imageTagOf(request), progress, work);
}
