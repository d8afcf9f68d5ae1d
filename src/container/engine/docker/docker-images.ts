/** The images of Docker or podman. */
import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { EngineEndpoint } from '../../../workspace/devcontainer/cli';
import { CaiError, messageOf, type FailureCode } from '../../../errors';
import type { Login } from '../../registry/registry';
import type { BuildEvent, BuildOptions, ImageStore } from '../image-store';
import type { ImageInfo } from '../engine-info';
import { imageInfoOf } from './answers';
import { followBuild } from './build-stream';
import { unless } from './engine-error';

/** Sends a request: `what` it is to do, as in "cannot ..."; `code` is for its failure. */
type Ask = <T>(what: string, request: () => Promise<T>, code: FailureCode) => Promise<T>;

export class DockerImages implements ImageStore {
  /** `ask` makes a `CaiError` of whatever fails. */
  constructor(
    private readonly docker: Docker,
    private readonly ask: Ask,
    readonly endpoint?: EngineEndpoint,
  ) {}

  async find(ref: string): Promise<ImageInfo | undefined> {
    const look = async () => {
      const answer = await this.docker.getImage(ref).inspect().catch(unless(404));
      return answer && imageInfoOf(answer);
    };
    return await this.ask(`look at the image ${ref}`, look, 'IMAGE');
  }

  async remove(ref: string): Promise<void> {
    const remove = () => this.docker.getImage(ref).remove().catch(unless(404));
    await this.ask(`remove the image ${ref}`, remove, 'IMAGE');
  }

  /** With the classic builder, which needs nothing but the engine. */
  async build(context: Readable, options: BuildOptions, onEvent: (event: BuildEvent) => void): Promise<void> {
    const { tag: t, dockerfile, args, labels, isFresh: nocache, usesHostNetwork } = options;
    const what = `build the image ${t}`;
    // Without its files, of which dockerode may miss the failure, the engine would wait for ever.
    const files = new AbortController();
    context.once('error', (reason) => files.abort(reason));
    const all = {
      version: '1',
      // What a failed step leaves behind is of no use.
      rm: true,
      forcerm: true,
      ...{ t, dockerfile, nocache, buildargs: { ...args }, labels: { ...labels } },
      ...(usesHostNetwork && { networkmode: 'host' }),
      abortSignal: files.signal,
    } as const;
    const withReason = (reason: unknown) => {
      if (!files.signal.aborted) throw reason;
      const why = `its files cannot be read: ${messageOf(files.signal.reason)}`;
      throw new CaiError('IMAGE', `cannot ${what}: ${why}`, undefined, { cause: reason });
    };
    const send = async () => followBuild(await this.docker.buildImage(context, all), what, onEvent);
    await this.ask(what, () => send().catch(withReason), 'IMAGE');
  }

  async pull(ref: string, onEvent: (event: BuildEvent) => void): Promise<void> {
    const what = `pull the image ${ref}`;
    await this.ask(what, async () => followBuild(await this.docker.pull(ref), what, onEvent), 'IMAGE');
  }

  async push(ref: string, login: Login | undefined, onEvent: (event: BuildEvent) => void): Promise<void> {
    const what = `push the image ${ref}`;
    // Docker wants the header also where there is nothing to say. Source: Docker Engine API, "Authentication".
    const authconfig =
      login !== undefined && 'identityToken' in login ? { identitytoken: login.identityToken } : { ...login };
    const [, name = ref, tag = 'latest'] = /^(.*?)(?::([^:/]+))?$/.exec(ref) ?? [];
    const push = () => this.docker.getImage(name).push({ tag, authconfig });
    await this.ask(what, async () => followBuild(await push(), what, onEvent), 'IMAGE');
  }
}
