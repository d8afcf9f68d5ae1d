/** How the image of an agent is built: the environment, unless there is one, the agent's layer, what the user adds. */
import { needsLoopback, proxyVariables } from '../../network';
import { basename, dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { CaiError, messageOf } from '../../errors';
import type { HostNetwork } from '../../config/config';
import { imageNow, type BuildEvent, type ImageStore } from '../engine/image-store';
import type { ImageInfo } from '../engine/engine-info';
import { folderContext, textContext } from './build-context';
import { whileLocked } from './build-lock';
import { buildDevcontainerImage, builderLock } from './devcontainer-image';
import {
  checkPossible,
  newest,
  readRecipe,
  readSetting,
  type DevcontainerRequest,
  type ImageRequest,
} from './image-request';
import { baseSuffix, imageLabel, imageTagOf } from './image-tag';
import { withStepName, type Progress } from './progress';
import { containerUser } from '../spec/container-user';
import { registryAgentFiles, type RegistryAgentFiles } from './registry-agent';

/** `noCache`: with nothing of earlier builds; `upgrade`: with the newest of everything that the user has not named. */
export type BuildChoice = Readonly<Record<'noCache' | 'upgrade', boolean>>;

/** What one step makes: an image of that name, from a Dockerfile in a context, with labels. */
interface Step {
  readonly tag: string;
  readonly context: Readable;
  readonly dockerfile: string;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** What is installed, for people; absent: it is not ours. */
  readonly packages?: readonly string[];
}

export class ImageBuild {
  readonly #recipe: ReturnType<typeof readRecipe>;
  readonly #packages: readonly string[];

  /** Fails with `CaiError('IMAGE')` for what cannot be built. */
  constructor(
    private readonly images: ImageStore,
    private readonly request: ImageRequest,
    private readonly choice: BuildChoice,
    private readonly progress: Progress,
  ) {
    this.#recipe = readRecipe(request);
    checkPossible(request, this.#recipe);
    const { agent, packages } = request;
    this.#packages = choice.upgrade ? packages.map((name) => newest(agent, name)) : packages;
  }

  /** Resolves with the image when it has its name. Rejects with `CaiError('IMAGE')`. */
  async run(): Promise<ImageInfo> {
    const { image } = this.request;
    const tag = imageTagOf(this.request);
    const before = await this.images.find(tag);
    await this.#provideEnvironment();
    const layer = image.dockerfile === undefined ? tag : tag + baseSuffix;
    await this.#addAgent(layer);
    if (image.dockerfile !== undefined) await this.#addOwn(tag, layer, image.dockerfile);
    return await this.#replaced(tag, before);
  }

  /** Several agents share it, so it is only made again where everything is. */
  async #provideEnvironment(): Promise<void> {
    const { environment } = this.#recipe;
    const { stateFolder, image } = this.request;
    await whileLocked(stateFolder, environment.tag, this.progress, async () => {
      const before = await this.images.find(environment.tag);
      if (before !== undefined && !this.#isFresh) return;
      const base = await this.#provideBase(image.base);
      if (this.request.devcontainer !== undefined) {
        await this.#addSetUp(this.request.devcontainer);
        await this.#replaced(environment.tag, before);
        return;
      }
      const path = base?.env.find((each) => each.startsWith('PATH='))?.slice('PATH='.length);
      await this.#build({
        tag: environment.tag,
        context: this.#ownContext('Dockerfile', environment.dockerfile),
        dockerfile: 'Dockerfile',
        args: {
          BASE_IMAGE: image.base,
          APT: image.apt.join(' '),
          NPM: image.packages.join(' '),
          // It begins with nothing, and so inherits no variables.
          ...(path !== undefined && { BASE_PATH: path }),
        },
        labels: { [imageLabel.recipe]: environment.hash },
        packages: image.packages,
      });
      await this.#replaced(environment.tag, before);
    });
  }

  /** On the image of a development container, which is built before. */
  async #addSetUp(request: DevcontainerRequest): Promise<void> {
    const { environment, devcontainer } = this.#recipe;
    const { tag, dockerfile, setUp } = devcontainer!;
    const { network, stateFolder, image } = this.request;
    const build = { tag, network, request, isFresh: this.#isFresh };
    const user = await whileLocked(stateFolder, builderLock, this.progress, () =>
      buildDevcontainerImage(this.images, build, this.progress),
    );
    const { hostUser, content } = request;
    const own = await containerUser(hostUser, content.root, false);
    await this.#build({
      tag: environment.tag,
      context: this.#ownContext('devcontainer.Dockerfile', dockerfile, { texts: { 'set-up': setUp } }),
      dockerfile: 'devcontainer.Dockerfile',
      args: {
        BASE_IMAGE: image.base,
        DEVCONTAINER: tag,
        USER_NAME: user,
        NEW_UID: String(own.user.uid),
        NEW_GID: String(own.user.gid),
      },
      labels: { [imageLabel.recipe]: environment.hash },
      packages: [],
    });
    // Its layers stay as long as the environment on top of it.
    await this.images.remove(tag).catch(() => undefined);
  }

  async #addAgent(tag: string): Promise<void> {
    const { environment, agentDockerfile, npmInstall } = this.#recipe;
    const listed = await this.#listedAgent();
    const texts = { 'npm-install.cjs': npmInstall, ...listed?.texts };
    try {
      await this.#build({
        tag,
        context: this.#ownContext('agent.Dockerfile', agentDockerfile, { ...listed, texts }),
        dockerfile: 'agent.Dockerfile',
        args: { ENVIRONMENT: environment.tag, PACKAGES: this.#packages.join(' ') },
        labels: this.#labels,
        packages: this.#packages,
      });
    } finally {
      listed?.discard();
    }
  }

  async #listedAgent(): Promise<RegistryAgentFiles | undefined> {
    const { installation, network, stateFolder } = this.request;
    const { environment, installer } = this.#recipe;
    if (installation === undefined || installer === undefined) return undefined;
    const { architecture } = (await this.images.find(environment.tag)) ?? {};
    const { progress } = this;
    const made = await registryAgentFiles(installation, { network, stateFolder, architecture, progress });
    return { ...made, texts: { ...made.texts, 'registry/registry-agent.sh': installer } };
  }

  async #addOwn(tag: string, below: string, path: string): Promise<void> {
    const { dockerfileText } = this.request.image;
    const dockerfile = basename(path);
    // Of a repository nothing gets in but the text that the user trusts.
    const context =
      dockerfileText === undefined
        ? folderContext(dirname(path), dockerfile)
        : textContext({ [dockerfile]: dockerfileText });
    await this.#build({ tag, context, dockerfile, args: { CAI_IMAGE: below }, labels: this.#labels });
  }

  get #labels(): Record<string, string> {
    const { environment, hash } = this.#recipe;
    const { devcontainer } = this.request;
    return {
      [imageLabel.recipe]: hash,
      [imageLabel.packages]: this.#packages.join(' '),
      [imageLabel.environment]: environment.tag,
      ...(this.request.repository !== undefined && { [imageLabel.repository]: this.request.repository }),
      ...(devcontainer !== undefined && { [imageLabel.devcontainer]: devcontainer.content.digest }),
    };
  }

  get #isFresh(): boolean {
    return this.choice.noCache || this.choice.upgrade;
  }

  /** `more`: further texts and files of ours, by their paths. */
  #ownContext(name: string, text: string, more?: Partial<RegistryAgentFiles>): Readable {
    const { caFile, npmRegistry, pipIndex } = this.request.network;
    const texts = {
      [name]: text,
      ...more?.texts,
      ...(caFile !== undefined && { 'network/ca.pem': readSetting('network.ca_file', caFile) }),
      ...(npmRegistry !== undefined && { 'network/npmrc': `registry=${npmRegistry}\n` }),
      ...(pipIndex !== undefined && { 'network/pip.conf': `[global]\nindex-url = ${pipIndex}\n` }),
    };
    return textContext(texts, more?.files);
  }

  async #build({ tag, context, dockerfile, args, labels, packages }: Step): Promise<void> {
    const { network } = this.request;
    this.progress.begin(`building ${tag}`);
    const options = {
      ...{ tag, dockerfile, labels },
      // Arguments that builders know by themselves, and keep out of the history. Source: Dockerfile reference.
      args: { ...Object.fromEntries(proxyVariables(network)), ...args },
      isFresh: this.#isFresh,
      usesHostNetwork: needsLoopback(network),
    };
    const tell = (event: BuildEvent) =>
      this.progress.report(packages === undefined ? event : withStepName(event, packages));
    await this.images.build(context, options, tell).catch((reason: unknown) => {
      throw withNetworkAdvice(reason, network);
    });
  }

  /** The new image of that name. The old one goes, unless it has another name, a container, or layers on top. */
  async #replaced(tag: string, before: ImageInfo | undefined): Promise<ImageInfo> {
    const made = await imageNow(this.images, tag, 'built');
    const old = before === undefined || before.id === made.id ? undefined : await this.images.find(before.id);
    if (old?.tags.length === 0) await this.images.remove(old.id).catch(() => undefined);
    return made;
  }

  /** A newer base image that cannot be had is no reason not to build on the one that is there. */
  async #provideBase(name: string): Promise<ImageInfo | undefined> {
    const found = await this.images.find(name);
    if (found !== undefined && !this.choice.upgrade) return found;
    try {
      this.progress.begin(`pulling ${name}`);
      await this.images.pull(name, (event) => this.progress.report(event));
      return await this.images.find(name);
    } catch (reason) {
      if (found !== undefined) {
        const why = `${name} could not be updated, so the one that is there is used`;
        this.progress.say(`${why}: ${messageOf(reason)}`);
        return found;
      }
      if (!(reason instanceof CaiError) || reason.code !== 'IMAGE') throw reason;
      const advice = `check the network, or name another one as "base" in [image] of the configuration`;
      throw new CaiError('IMAGE', `${reason.message}\nIt is the base image: ${advice}.`, undefined, {
        cause: reason,
      });
    }
  }
}

/** What fails in a step does not say how settings of this machine's network come into the image. */
function withNetworkAdvice(reason: unknown, { caFile, pipIndex }: HostNetwork): unknown {
  if (!(reason instanceof CaiError)) return reason;
  const advice = /\bcertificate\b|_CERT(?!S)/i.test(reason.message)
    ? certificateAdvice(caFile)
    : pipIndex === undefined && reason.message.includes('No matching distribution found')
      ? 'Where pypi.org cannot be reached, name an index that can as "pip_index" in [network] of your config.toml.'
      : undefined;
  if (advice === undefined) return reason;
  return new CaiError('IMAGE', `${reason.message}\n${advice}`, undefined, { cause: reason });
}

function certificateAdvice(caFile: string | undefined): string {
  const file = caFile === undefined ? 'name a file with it (PEM)' : `see whether it is in ${caFile}, named`;
  return `Behind a proxy, or with a company's own certificate, ${file} as "ca_file" in [network] of your config.toml ("cai doctor" tells its path).`;
}
