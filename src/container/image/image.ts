/** The image of an agent: found, or built from the Dockerfile of this package and what the user adds. */
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { CaiError, messageOf } from '../../errors';
import type { HostNetwork } from '../../config/config';
import { ProcessLocks } from '../../system/process-lock';
import { quoted } from '../../system/quoted';
import { folderContext, textContext } from './build-context';
import type { BuildEvent, Engine, ImageStore } from '../engine/engine';
import type { ImageInfo } from '../engine/engine-info';
import { checkPossible, newest, readRecipe, readSetting, type ImageRequest } from './image-request';
import type { Registry } from '../registry/registry';
import { baseSuffix, imageTagOf } from './image-tag';
import { withStepName } from './step-names';
import type { Progress } from './progress';

type BuildOptions = Readonly<Record<'noCache' | 'upgrade', boolean>>;

/**
 * Labels of our images. `containai.managed` is none of them: containers inherit labels, and one that
 * somebody else starts from our image is not ours. `recipe` is the hash of everything that the image is made from, but
 * for what build steps fetch; `packages` are the npm packages that were asked for.
 */
const imageLabel = { recipe: 'containai.recipe', packages: 'containai.packages' } as const;

/** The image as it is; undefined if there is none. */
export async function findImage(
  images: Pick<ImageStore, 'find'>,
  request: ImageRequest,
): Promise<ImageInfo | undefined> {
  return await images.find(imageTagOf(request));
}

/**
 * The image, built if there is none; of several processes one builds, and the others wait for it. One that
 * was built from something else is reported and used. Rejects with `CaiError('IMAGE')` where it may not or
 * cannot be built.
 */
export async function provideImage(
  engine: Pick<Engine, 'images' | 'about'>,
  request: ImageRequest,
  progress: Progress,
): Promise<ImageInfo> {
  const { images } = engine;
  const found = await findImage(images, request);
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
    (await findImage(images, request)) ?? build(images, request, usual, progress);
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
  options: BuildOptions,
  progress: Progress,
): Promise<ImageInfo> {
  return await locked(request, progress, () => build(images, request, options, progress));
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
  return `cai build ${agent}${push}${repository === undefined ? '' : ` --workspace ${quoted(repository)}`}`;
}

/** One build of an image at a time. */
async function locked<T>(request: ImageRequest, progress: Progress, work: () => Promise<T>): Promise<T> {
  const tag = imageTagOf(request);
  const folder = join(request.stateFolder, 'builds');
  const onWait = (pid: number) => progress.begin(`waiting for process ${pid}, which builds ${tag}`);
  const cannotLock = (cause: unknown) => {
    const what = `${folder}, which keeps builds apart, cannot be written: ${messageOf(cause)}`;
    throw new CaiError('IMAGE', what, undefined, { cause });
  };
  try {
    const locks = new ProcessLocks(folder);
    const lock = await locks.take(tag.replaceAll(/[/:]/g, '-'), { pollMs: 100, onWait }).catch(cannotLock);
    return await work().finally(() => lock?.release());
  } finally {
    progress.end();
  }
}

async function build(
  images: ImageStore,
  request: ImageRequest,
  { noCache, upgrade }: BuildOptions,
  progress: Progress,
): Promise<ImageInfo> {
  const { agent, image, network } = request;
  const recipe = readRecipe(request);
  checkPossible(request, recipe);
  const base = await provideBase(images, image.base, upgrade, progress);
  const path = base?.env.find((each) => each.startsWith('PATH='))?.slice('PATH='.length);
  const tag = imageTagOf(request);
  const before = await images.find(tag);
  const packages = upgrade ? request.packages.map((name) => newest(agent, name)) : request.packages;
  const ours = image.dockerfile === undefined ? tag : tag + baseSuffix;
  const common = {
    labels: { [imageLabel.recipe]: recipe.hash, [imageLabel.packages]: packages.join(' ') },
    isFresh: noCache || upgrade,
    usesHostNetwork: needsLoopback(network),
  };
  const run = async (tag: string, context: Readable, dockerfile: string, own: Record<string, string>) => {
    progress.begin(`building ${tag}`);
    // Arguments that builders know by themselves, and keep out of the history. Source: Dockerfile reference.
    const args = { ...Object.fromEntries(proxyVariables(network)), ...own };
    const tell = (event: BuildEvent) => progress.report(tag === ours ? withStepName(event, packages) : event);
    await images.build(context, { ...common, tag, dockerfile, args }, tell).catch((reason: unknown) => {
      throw withNetworkAdvice(reason, network);
    });
  };
  await run(ours, textContext({ Dockerfile: recipe.dockerfile, ...networkFiles(network) }), 'Dockerfile', {
    BASE_IMAGE: image.base,
    PACKAGES: packages.join(' '),
    // Our image begins with nothing, and so inherits no variables.
    ...(path !== undefined && { BASE_PATH: path }),
  });
  if (image.dockerfile !== undefined) {
    const file = basename(image.dockerfile);
    // Of a repository nothing gets in but the text that the user trusts.
    const context =
      image.dockerfileText === undefined
        ? folderContext(dirname(image.dockerfile), file)
        : textContext({ [file]: image.dockerfileText });
    await run(tag, context, file, { CAI_IMAGE: ours });
  }
  const made = await images.find(tag);
  if (made === undefined) throw new CaiError('IMAGE', `${tag} was built, but the engine does not have it`);
  if (before !== undefined && before.id !== made.id) await removeNameless(images, before.id);
  return made;
}

/** What fails in a step only says that a certificate is not trusted, not how this machine's come into the image. */
function withNetworkAdvice(reason: unknown, { caFile }: HostNetwork): unknown {
  if (!(reason instanceof CaiError) || !/\bcertificate\b|_CERT(?!S)/i.test(reason.message)) return reason;
  const file = caFile === undefined ? 'name a file with it (PEM)' : `see whether it is in ${caFile}, named`;
  const advice = `Behind a proxy, or with a company's own certificate, ${file} as "ca_file" in [network] of your config.toml ("cai doctor" tells its path).`;
  return new CaiError('IMAGE', `${reason.message}\n${advice}`, undefined, { cause: reason });
}

/** What the new image has taken the name from; it stays while it has another name or a container. */
async function removeNameless(images: ImageStore, id: string): Promise<void> {
  const image = await images.find(id);
  if (image?.tags.length === 0) await images.remove(id).catch(() => undefined);
}

/** The base image. A newer one that cannot be had is no reason not to build on the one that is there. */
async function provideBase(
  images: ImageStore,
  name: string,
  mustBeNewest: boolean,
  progress: Progress,
): Promise<ImageInfo | undefined> {
  const found = await images.find(name);
  if (found !== undefined && !mustBeNewest) return found;
  try {
    progress.begin(`pulling ${name}`);
    await images.pull(name, (event) => progress.report(event));
    return await images.find(name);
  } catch (reason) {
    if (found !== undefined) {
      progress.say(`no newer ${name} can be had, so the one that is there is used: ${messageOf(reason)}`);
      return found;
    }
    if (!(reason instanceof CaiError) || reason.code !== 'IMAGE') throw reason;
    const advice = `check the network, or name another one as "base" in [image] of the configuration`;
    throw new CaiError('IMAGE', `${reason.message}\nIt is the base image: ${advice}.`, undefined, {
      cause: reason,
    });
  }
}

function networkFiles({ caFile, npmRegistry }: HostNetwork): Record<string, string> {
  return {
    ...(caFile !== undefined && { 'network/ca.pem': readSetting('network.ca_file', caFile) }),
    ...(npmRegistry !== undefined && { 'network/npmrc': `registry=${npmRegistry}\n` }),
  };
}

/** The variables that name proxies, in both cases: programs disagree about it. */
export function proxyVariables({ httpProxy, httpsProxy, noProxy }: HostNetwork): [string, string][] {
  const proxies = { http_proxy: httpProxy, https_proxy: httpsProxy, no_proxy: noProxy };
  return Object.entries(proxies).flatMap(([name, value]): [string, string][] =>
    value === undefined
      ? []
      : [
          [name, value],
          [name.toUpperCase(), value],
        ],
  );
}

/** Whether something is on this machine's own loopback: a container has another one. */
function needsLoopback({ npmRegistry, httpProxy, httpsProxy }: HostNetwork): boolean {
  const isLoopback = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/;
  return [npmRegistry, httpProxy, httpsProxy].some(
    (each) => each !== undefined && isLoopback.test(new URL(each).hostname),
  );
}
