/** What `cai` needs of whatever has the images of its containers: builds, pulls and pushes. */
import type { Readable } from 'node:stream';
import type { EngineEndpoint } from '../../workspace/devcontainer/cli';
import { CaiError } from '../../errors';
import type { Login } from '../registry/registry';
import type { ImageInfo } from './engine-info';

/** One thing that happened in a build, in order. Texts are single lines without control sequences. */
export type BuildEvent =
  /** A step of the Dockerfile begins: the `step`th of `total`, from 1; `text` is its instruction. */
  | { readonly kind: 'step'; readonly text: string; readonly step: number; readonly total: number }
  /** A line that a step or the engine printed. */
  | { readonly kind: 'log'; readonly text: string }
  /** How far a layer is, in the engine's words: `Downloading [==>  ]  20MB/100MB`. */
  | { readonly kind: 'pull'; readonly id: string; readonly text: string };

export interface BuildOptions {
  readonly tag: string;
  /** Path of the Dockerfile in the context. */
  readonly dockerfile: string;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether nothing of earlier builds is used. */
  readonly isFresh: boolean;
  /** Whether its steps use the network of the engine's machine. */
  readonly usesHostNetwork: boolean;
}

/** The images of an engine. Methods reject as those of `Engine`. */
export interface ImageStore {
  /** How Docker's own programs reach the engine; absent: they cannot, or only with settings that we do not give them. */
  readonly endpoint?: EngineEndpoint | undefined;

  /** `undefined`: there is no such image. */
  find(ref: string): Promise<ImageInfo | undefined>;

  /** Does nothing if there is no such image. Rejects with `IMAGE` for one in use. */
  remove(ref: string): Promise<void>;

  /** Builds an image; `context` is a tar stream. Rejects with `IMAGE` and the last lines that were printed. */
  build(context: Readable, options: BuildOptions, onEvent: (event: BuildEvent) => void): Promise<void>;

  /** Fetches an image from its registry; rejects with `IMAGE`. */
  pull(ref: string, onEvent: (event: BuildEvent) => void): Promise<void>;

  /** Gives an image to the registry that its name begins with, which knows us by `login`; rejects with `IMAGE`. */
  push(ref: string, login: Login | undefined, onEvent: (event: BuildEvent) => void): Promise<void>;
}

/** An image that was `built` or `pulled`. Rejects with `CaiError('IMAGE')` if the engine does not have it all the same. */
export async function imageNow(
  images: Pick<ImageStore, 'find'>,
  ref: string,
  done: 'built' | 'pulled',
): Promise<ImageInfo> {
  const found = await images.find(ref);
  if (found !== undefined) return found;
  throw new CaiError('IMAGE', `${ref} was ${done}, but the engine does not have it`);
}
