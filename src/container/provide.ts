/** The running container of a workspace and an agent: looks at what is there, has `decide` say what to do, does it. */
import { CaiError } from '../errors';
import { commandWord, quoted } from '../system/quoted';
import { tamperingOf } from './check';
import { decide, type Action, type FoundContainer } from './decide';
import { endedAtOnce } from './endings';
import type { ContainerInfo } from './engine/container-info';
import { countCommands } from './engine/container-processes';
import type { Engine } from './engine/engine';
import type { ImageInfo } from './engine/engine-info';
import type { Progress } from './image/progress';
import { makeContainer, startContainer, type MakeRequest } from './make';
import { isLeftUnfinished, Patience } from './patience';
import { changesOf, lostIn, replacedRoot, type Change } from './spec/changes';
import { startWithinLimit, type ServedLimit } from './served-limit';
import { ownerOf, provideServices, removeWithServices } from './services';
import { label } from './spec/labels';
import { containerName, type Named } from './spec/names';
import type { Settings } from './spec/spec';
import { SshConnection } from './ssh/ssh';

interface ContainerRequest extends MakeRequest, ServedLimit {
  readonly findImage: () => Promise<ImageInfo | undefined>;
  /** Its image, built if it is missing. */
  readonly image: () => Promise<ImageInfo>;
  /** As `provideServices` wants both. */
  readonly progress: Progress;
  readonly buildImage: (name: string) => Promise<ImageInfo | undefined>;
  readonly isFresh: boolean;
  /** The container as somebody has just looked at it; `undefined` in it: there was none. */
  readonly seen?: { readonly info: ContainerInfo | undefined } | undefined;
}

export interface RunningContainer extends Pick<
  ContainerInfo,
  'id' | 'name' | 'pid' | 'startedAt' | 'env' | 'hostname' | 'imageId'
> {
  /** Fingerprint of the host key that it was made with. */
  readonly hostKey: string;
  /** As `Settings.authority` was. */
  readonly authority: string | undefined;
  /** As `Circumstances.devcontainer` was. */
  readonly devcontainer: string | undefined;
  /** This process has started it. */
  readonly isNew: boolean;
}

/**
 * The running container for the request. Its unique name is the lock between processes: of several that
 * create it at once one succeeds, and the others wait for that one to start it. Rejects with `CaiError`
 * (`FOREIGN_CONTAINER`, `REPLACED`, `IMAGE`, `QUOTA`, `NO_WALL`, `CONTAINER_START`).
 */
export async function provideContainer(engine: Engine, request: ContainerRequest): Promise<RunningContainer> {
  const provision = new Provision(engine, request);
  let container: RunningContainer | undefined;
  while (container === undefined) container = await provision.step();
  return container;
}

/** One use of `provideContainer`, and what it has done so far. */
class Provision {
  readonly #name: string;
  readonly #patience: Patience;
  #image: ImageInfo | undefined;
  #isMade = false;
  #hasStarted = false;
  /** Id of the container that was there first; empty if there was no container. */
  #firstId: string | undefined;
  #seen: ContainerRequest['seen'];

  constructor(
    private readonly engine: Engine,
    private readonly request: ContainerRequest,
  ) {
    this.#name = containerName(request.settings);
    this.#patience = new Patience(this.#name);
    this.#seen = request.seen;
  }

  /** `undefined`: something was done, and the container has to be looked at again. */
  async step(): Promise<RunningContainer | undefined> {
    const { engine } = this;
    const { info } = this.#seen ?? { info: await engine.inspectContainer(this.#name) };
    this.#seen = undefined;
    this.#patience.saw(info);
    const action = await this.#unlessChanged(info, this.#decide(info));
    if (action === undefined) return undefined;
    if (action.kind === 'get image') this.#image = await this.request.image();
    else if (info !== undefined) return await this.#act(action, info);
    else if (await this.#make(this.#image!)) this.#isMade = true;
    else await this.#patience.whileTaken();
    return undefined;
  }

  /** As `step`, for a container that is there. */
  async #act(action: Action, info: ContainerInfo): Promise<RunningContainer | undefined> {
    const { engine, request } = this;
    const { settings, tell } = request;
    switch (action.kind) {
      case 'refuse':
        throw await refusalOf(action.because, engine, info, settings);
      case 'use':
        return await this.#use(info, action.despite);
      case 'start':
        this.#hasStarted = true;
        // Another one is made, then.
        if (!(await engine.about()).can.restart) await removeWithServices(engine, ownerOf(info));
        else await startWithinLimit(engine, request, () => startContainer(engine, info, settings));
        break;
      case 'replace':
        if (action.because !== 'asked for') tell(replacement(action.because, info, settings));
        await removeWithServices(engine, ownerOf(info));
        break;
      case 'wait':
        if (action.until === 'removed') await this.#patience.whileRemoved();
        else if (await isLeftUnfinished(engine, info)) await removeWithServices(engine, ownerOf(info));
    }
    return undefined;
  }

  async #use(info: ContainerInfo, despite: readonly Change[]): Promise<RunningContainer | undefined> {
    const { settings, tell } = this.request;
    for (const change of despite) tell(noticeOf(change, info, settings));
    const providing = provideServices(this.engine, info, despite.length > 0, this.request);
    const provided = providing.then(() => true);
    if ((await this.#unlessChanged(info, provided)) === undefined) return undefined;
    const { [label.hostKey]: hostKey = '', [label.authority]: authority } = info.labels;
    const isNew = this.#isMade || this.#hasStarted;
    return { ...info, hostKey, authority, devcontainer: info.labels[label.devcontainer], isNew };
  }

  /** `undefined`: it failed, and another process has stopped or removed the container meanwhile: it is looked at again. */
  async #unlessChanged<T>(info: ContainerInfo | undefined, work: Promise<T>): Promise<T | undefined> {
    return await work.catch(async (reason: unknown) => {
      if (info === undefined || isAsIn(info, await this.engine.inspectContainer(info.id))) throw reason;
      return undefined;
    });
  }

  /** `false`: the name is taken. */
  async #make(image: ImageInfo): Promise<boolean> {
    const { engine, request } = this;
    return await startWithinLimit(engine, request, () => makeContainer(engine, this.#name, image, request));
  }

  /** Looks up facts until `decide` needs no more. */
  async #decide(info: ContainerInfo | undefined): Promise<Action> {
    this.#firstId ??= info?.id ?? '';
    const wanted = {
      // Any other container was made after this process was asked for a fresh one.
      isFresh: this.request.isFresh && this.#firstId === info?.id,
      hasImage: this.#image !== undefined,
      hasStarted: this.#hasStarted,
    };
    let found = firstLook(info, this.request.settings);
    for (;;) {
      const action = decide(found, wanted);
      if (action.kind !== 'look' || info === undefined) return action;
      found = { ...found, ...(await this.#look(action.at, info)) };
    }
  }

  async #look(at: (Action & { kind: 'look' })['at'], info: ContainerInfo): Promise<Partial<FoundContainer>> {
    if (at === 'isBusy') return { isBusy: (await countCommands(this.engine, info.id)) > 0 };
    const { settings, findImage } = this.request;
    const changes = changesOf(info.labels, settings);
    if (changes.has('settings')) return { changes };
    const image = await findImage();
    if (image === undefined || image.id === info.imageId) return { changes };
    // An older one that this process knows of would be replaced again and again.
    this.#image = image;
    return { changes: changes.add('settings') };
  }
}

/** Whether a container is still in the state in which it was found. */
function isAsIn(found: ContainerInfo, now: ContainerInfo | undefined): boolean {
  return now?.state === found.state && now.startedAt === found.startedAt;
}

function firstLook(info: ContainerInfo | undefined, settings: Settings): FoundContainer {
  if (info === undefined) return { state: 'none', isOurs: false, isAsMade: false };
  const states = { removing: 'leaving', dead: 'dead', created: 'unfinished', paused: 'paused' } as const;
  const runs = info.isRunning ? 'running' : 'stopped';
  return {
    state: Object.hasOwn(states, info.state) ? states[info.state as keyof typeof states] : runs,
    isOurs: info.labels[label.managed] === 'true',
    isAsMade: tamperingOf(info, settings) === undefined,
  };
}

/** For a container that is replaced by another one. */
function replacement(change: Change | 'dead', { name, labels }: ContainerInfo, settings: Settings): string {
  const again = `the container ${name} is recreated, because`;
  switch (change) {
    case 'folder':
      return `${again} ${quoted(replacedRoot(labels, settings.binds))} is another folder now than the one that it has`;
    case 'settings':
      return `${again} its configuration or image has changed`;
    case 'switched':
      return settings.protection === undefined
        ? `${again} all of its workspace is to be writable`
        : `${again} its workspace is to be protected again`;
    case 'dead':
      return `${again} a removal of it has failed half way`;
    default:
      return `${again} what is protected in its workspace has changed`;
  }
}

/** For a container that is used despite that, because commands run in it. */
function noticeOf(change: Change, { name, labels }: ContainerInfo, settings: Settings): string {
  return change === 'lost'
    ? `${lostIn(labels, settings)} was replaced on this machine while commands run in the container ${name}, which can write it from now on: --fresh ends them and protects it again`
    : `the configuration or the image has changed since the container ${name} was made, and commands run in it: --fresh ends them and recreates it`;
}

async function refusalOf(
  because: (Action & { kind: 'refuse' })['because'],
  engine: Engine,
  info: ContainerInfo,
  settings: Settings,
): Promise<CaiError> {
  const { name, labels } = info;
  switch (because) {
    case 'not as made':
      return tamperingOf(info, settings)!;
    case 'paused':
      return new CaiError('CONTAINER_START', `the container ${name} is paused: docker unpause ${name}`);
    case 'ends at once':
      return await endedAtOnce(engine, info);
    case 'folder': {
      const source = replacedRoot(labels, settings.binds)!;
      const what = `${quoted(source)} was moved or replaced since the container ${name} was made`;
      return new CaiError('REPLACED', `${what}, and ${replacedRemedy(settings.workspace ?? source)}`);
    }
    case 'switched': {
      const isOff = settings.protection === undefined;
      const how = isOff ? 'cannot write what is protected' : 'can write what this machine would execute';
      const what = `the container ${name} was made so that commands in it ${how}, and some still run`;
      const remedy = 'end them first, or use --fresh, which ends them and recreates it';
      return new CaiError('CONTAINER_START', `${what}: ${remedy}`);
    }
  }
}

/** What to do where commands still run in a folder that was moved or replaced. */
export function replacedRemedy(workspace: string): string {
  return `commands still run in the old folder: end them with: cai stop --force --workspace ${commandWord(workspace)}; the next command then gets the new folder`;
}

/** What was found ahead. */
export interface Ahead {
  /** The container; `undefined`: the engine has no container of that name. */
  readonly info: ContainerInfo | undefined;
  /** A connection to it, if it runs and is as it was made. Nothing runs on it before it is taken. */
  readonly connection: Promise<SshConnection> | undefined;
}

/** Looks at the container, and connects, as sshd takes longest to begin. Rejects as the engine does. */
export async function lookAhead(engine: Engine, wanted: Named, privateKey: string): Promise<Ahead> {
  const info = await engine.inspectContainer(containerName(wanted));
  if (info?.state !== 'running' || tamperingOf(info, wanted) !== undefined)
    return { info, connection: undefined };
  const { [label.hostKey]: hostKey = '' } = info.labels;
  const connection = connectTo(engine, { ...info, hostKey }, privateKey);
  // Whoever takes it hears of it.
  connection.catch(() => undefined);
  return { info, connection };
}

/**
 * A connection to a container: the one that was opened ahead, if that is to the very start of this one, else it is ended.
 * Rejects as `SshConnection.open` does.
 */
export async function connectTo(
  engine: Engine,
  container: Pick<RunningContainer, 'id' | 'name' | 'pid' | 'startedAt' | 'hostKey'>,
  privateKey: string,
  ahead?: Ahead,
): Promise<SshConnection> {
  const { id, name, startedAt, hostKey } = container;
  const isIt = ahead?.info?.id === id && ahead.info.startedAt === startedAt;
  if (isIt && ahead.connection !== undefined) return await ahead.connection;
  ahead?.connection?.then((unused) => unused.end()).catch(() => undefined);
  return await SshConnection.open({
    connect: () => engine.connectTo(container),
    openPipes: engine.openPipes && ((pipes) => engine.openPipes!(container, pipes)),
    hostKey,
    privateKey,
    container: name,
    lookCommand: engine.lookCommand(name),
  });
}
