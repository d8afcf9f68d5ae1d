/** Which container a command is about: the options that say so, and the way to it. */
import { resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Host } from '../../system/host';
import { resolveAgent, type AgentCommand } from '../../agent/catalog';
import { endedAtOnce, explained, isUnreached, noRoomIn } from '../../container/endings';
import type { Engine } from '../../container/engine/engine';
import { findEngine } from '../../container/engine/find-engine';
import type { ImageInfo } from '../../container/engine/engine-info';
import { provideServiceImage } from '../../container/image/devcontainer-image';
import { imageNotice, provideImage } from '../../container/image/image';
import { imageRequestOf, type ImageRequest } from '../../container/image/image-request';
import { imageTagOf } from '../../container/image/image-tag';
import { clientKey } from '../../container/ssh/keys';
import {
  connectTo,
  lookAhead,
  provideContainer,
  type Ahead,
  type RunningContainer,
} from '../../container/provide';
import { settingsForUse } from '../../container/spec/settings';
import type { Settings } from '../../container/spec/spec';
import type { SshConnection } from '../../container/ssh/ssh';
import { WorkspaceCopy } from '../../container/copy/copy';
import { CaiError } from '../../errors';
import type { Config } from '../../config/config';
import { loadWorkspaceConfig, placeOfValue } from '../../config/effective-config';
import { recordUse } from '../../workspace/records';
import { rootNotice, type Workspace } from '../../workspace/root';
import { findCheckedWorkspace } from '../../workspace/trust';
import { common } from '../support/command';
import { briefly, voiceOf, type Voice } from './voice';

export interface TargetOptions {
  /** A folder in the workspace; `false`: none. */
  readonly workspace?: string | false;
  readonly agent?: string;
  readonly context?: string;
  readonly fresh?: boolean;
  /** `workspace` is a root, and must be this, as `identify` says it: the caller has decided about that folder. */
  readonly rootIdentity?: string;
  /** Whether nothing in the workspace is protected from being written. */
  readonly writable?: boolean;
  readonly quiet?: boolean;
}

/** The options of every command that works in one container. */
export const targetOptions = [
  common.workspace,
  ['--no-workspace', 'use a separate container without any folder of this machine'],
  common.agent,
  common.context,
  common.fresh,
  ['--writable', 'let commands change protected files, such as .git/config and .vscode'],
  common.quiet,
] as const;

/** What a container is to be, and where; all commands without a workspace share one. */
export interface Wanted {
  readonly workspace: Workspace | undefined;
  readonly config: Config;
  readonly settings: Settings;
  readonly image: ImageRequest;
  readonly engine: Engine;
  readonly isFresh: boolean;
  /** The copy of the workspace, where the container has one. */
  readonly copy: WorkspaceCopy | undefined;
}

export class Target {
  private constructor(
    readonly wanted: Wanted,
    private readonly host: Host,
    /** Whom to tell what happens before a command runs. */
    readonly voice: Voice,
    private readonly privateKey: string,
    /** What was looked at, and opened, before. */
    private ahead: Ahead | undefined,
  ) {}

  /** Rejects with the `CaiError` of what is wrong: folder, configuration, agent, engine. */
  static async find(options: TargetOptions, host: Host, status?: Writable): Promise<Target> {
    const voice = voiceOf(options.quiet === true, status);
    const { workspace: folder = '.', rootIdentity: known } = options;
    const workspace = folder === false ? undefined : await findCheckedWorkspace(resolve(folder), host, known);
    const root = workspace?.root;
    const found = loadWorkspaceConfig(host, root);
    const { config } = found;
    const foreign = workspace && rootNotice(workspace);
    for (const notice of [foreign ?? [], briefly(found)].flat()) voice.tell(notice);
    const { name: agent } = chosenAgent(options.agent, config, host, root);
    // It answers while we look at files.
    const connecting = findEngine(host, config, options.context).connect();
    connecting.catch(() => undefined);
    const { publicKey: authorizedKey, privateKey } = await clientKey(host.folders.state);
    const isFresh = options.fresh === true;
    const named = { workspace: root, agent, hostUser: host.user, authorizedKey };
    const looking = isFresh ? undefined : connecting.then((found) => lookAhead(found, named, privateKey));
    looking?.catch(() => undefined);
    const { rootIdentity = workspace?.identity } = options;
    const settings = await settingsForUse({
      config,
      workspace: root,
      rootIdentity,
      agent,
      authorizedKey,
      host,
      isWritable: options.writable === true,
    });
    const isCopied = settings.isCopied && root !== undefined;
    const copy = isCopied ? await WorkspaceCopy.of(root, settings.workingFolder, host) : undefined;
    const engine = await connecting;
    engine.onWait = voice.wait;
    await engine.checkBinds(settings.binds);
    for (const notice of settings.notices) voice.tell(notice);
    const image = imageRequestOf(host, config, root, agent);
    const wanted = { workspace, config, settings, image, engine, isFresh, copy };
    return new Target(wanted, host, voice, privateKey, await looking);
  }

  get imageName(): string {
    return imageTagOf(this.wanted.image);
  }

  /** Its container, running: made or started if necessary. */
  async open(): Promise<RunningContainer> {
    const { host, voice } = this;
    const { engine, settings, image: request, isFresh, config } = this.wanted;
    let isImageNoted = false;
    return await provideContainer(engine, {
      settings,
      findImage: async () => {
        const image = await engine.images
          .find(imageTagOf(request))
          .catch((reason: unknown) => this.#unseen(reason));
        if (image !== undefined && !isImageNoted) this.#noteImage(request, image);
        isImageNoted = true;
        return image;
      },
      image: () => {
        isImageNoted = true;
        return provideImage(engine, request, voice.progress);
      },
      isFresh,
      seen: this.ahead,
      mostServed: config.serve.containers,
      host,
      tell: voice.tell,
      progress: voice.progress,
      buildImage: (name) => provideServiceImage(engine.images, request, name, voice.progress),
    });
  }

  /** Its container, entered; a copy of the workspace is there then. */
  async connect(): Promise<{ container: RunningContainer; connection: SshConnection }> {
    const entered = await this.#enter();
    recordUse(this.host.folders.state, this.wanted.settings.workspace);
    try {
      await this.wanted.copy?.provide(entered.connection, this.voice);
      return entered;
    } catch (reason) {
      await entered.connection.end();
      throw await explained(reason, this.wanted.engine, entered.container);
    }
  }

  /** The container may end for want of work just when it is wanted, so connecting is tried twice. */
  async #enter(): Promise<{ container: RunningContainer; connection: SshConnection }> {
    const { engine } = this.wanted;
    const first = await this.open();
    try {
      return { container: first, connection: await this.#connectTo(first) };
    } catch (reason) {
      if (!isUnreached(reason)) throw reason;
      const container = await this.open();
      if (container.id === first.id && container.startedAt === first.startedAt)
        throw (await noRoomIn(engine, first, reason)) ?? reason;
      const connection = await this.#connectTo(container).catch(async (again: unknown) => {
        const info = isUnreached(again) ? await engine.inspectContainer(container.id) : undefined;
        throw info === undefined || info.isRunning ? again : await endedAtOnce(engine, info);
      });
      return { container, connection };
    }
  }

  /** The container that is there does not need the registry from which its image came. */
  #unseen(reason: unknown): undefined {
    if (!(reason instanceof CaiError) || reason.code !== 'IMAGE') throw reason;
    this.voice.tell(reason.message);
  }

  /** The container that is there does not need what the image is made from. */
  #noteImage(request: ImageRequest, image: ImageInfo): void {
    try {
      const notice = imageNotice(request, image);
      if (notice !== undefined) this.voice.tell(notice);
    } catch (reason) {
      if (!(reason instanceof CaiError)) throw reason;
      this.voice.tell(reason.message);
    }
  }

  async #connectTo(container: RunningContainer): Promise<SshConnection> {
    const opening = connectTo(this.wanted.engine, container, this.privateKey, this.ahead);
    this.ahead = undefined;
    const watch = new AbortController();
    try {
      return await Promise.race([opening, this.#endOf(container, watch.signal)]);
    } finally {
      watch.abort();
    }
  }

  /** Rejects once the container has ended: nobody would answer, however long one waits. */
  async #endOf({ id, name }: RunningContainer, signal: AbortSignal): Promise<never> {
    for (;;) {
      await sleep(endCheckMs, undefined, { signal });
      const info = await this.wanted.engine.inspectContainer(id);
      if (info?.isRunning !== true) throw new CaiError('SSH_CONNECT', `the container ${name} has ended`);
    }
  }
}

/** How often a container is looked at while it does not answer, in milliseconds; most answer before. */
const endCheckMs = 250;

/** The agent of that name, or the default of the configuration at `root`. Fails with `USAGE` for an unknown one. */
export function chosenAgent(
  named: string | undefined,
  config: Config,
  host: Host,
  root?: string,
): AgentCommand {
  const name = named ?? config.agent.default;
  const namedAt = () => placeOfValue(host, root, 'agent.default', name);
  try {
    return resolveAgent(name, [], {
      agents: config.agents,
      host,
      namedAt: named === undefined ? namedAt : undefined,
    });
  } catch (reason) {
    if (reason instanceof CaiError) throw new CaiError('USAGE', reason.message);
    throw reason;
  }
}
