/** What the image of a development container is made from: another image, or a Dockerfile. */
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { mainService, type ComposeProject } from './compose/project';
import { isObject, textOf, textsIn, type JsonObject } from './json';

export type ImageSource = { readonly image: string } | BuildSource;

/** Paths are absolute. */
export interface BuildSource extends Readonly<Record<'dockerfile' | 'context', string>> {
  readonly args: Readonly<Record<string, string>>;
  readonly target: string | undefined;
}

/** A place in a file that can name an image, or how one is built. */
interface Place {
  readonly file: string;
  readonly folder: string;
}

/**
 * What devcontainer.json says. `project`: the one of Compose that it names. Fails with `CaiError('CONFIG')` for one that
 * names neither an image nor a Dockerfile.
 */
export function imageSourceOf(
  settings: JsonObject,
  file: string,
  project: ComposeProject | undefined,
): ImageSource {
  const place = { file, folder: posix.dirname(file) };
  const { build, image, context } = settings;
  const ofFile = textOf(settings.dockerFile);
  if (project !== undefined) {
    const { keys, file: from } = mainService(project, file);
    return serviceSource(keys, from, project);
  }
  if (ofFile !== undefined)
    return dockerfileIn({ context: '.', ...(context && { context }), dockerfile: ofFile }, place);
  return sourceIn({ ...(build && { build }), ...(image && { image }) }, place);
}

/** What the keys `build` and `image` of a service say, whose file is `file`. Fails as `imageSourceOf` does. */
export function serviceSource(
  keys: JsonObject,
  file: string,
  { folder }: Pick<ComposeProject, 'folder'>,
): ImageSource {
  return sourceIn(keys, { file, folder }, 'the folder of the context');
}

function sourceIn(
  { build, image }: JsonObject,
  place: Place,
  base?: 'the folder of the context',
): ImageSource {
  const folder = textOf(build);
  if (folder !== undefined) return dockerfileIn({ context: folder }, place, base);
  if (isObject(build)) return dockerfileIn(build, place, base);
  const name = textOf(image);
  if (name !== undefined && /^\w[\w./:@-]*$/.test(name)) return { image: name };
  throw new CaiError('CONFIG', `${place.file} names no image and no Dockerfile that an image is made from`);
}

/** `base`: what the Dockerfile's path is relative to; absent: the folder of the file. */
function dockerfileIn(build: JsonObject, place: Place, base?: 'the folder of the context'): BuildSource {
  const context = posix.resolve(place.folder, textOf(build.context) ?? '.');
  const name = textOf(build.dockerfile) ?? (base && 'Dockerfile');
  if (name === undefined)
    throw new CaiError('CONFIG', `${place.file}: ${quoted('build')} lacks "dockerfile"`);
  return {
    dockerfile: posix.resolve(base === undefined ? place.folder : context, name),
    context,
    args: argsIn(build),
    target: textOf(build.target),
  };
}

/** Compose has them as a list, too: `NAME=value`. */
function argsIn({ args }: JsonObject): Record<string, string> {
  if (!Array.isArray(args)) return textsIn(args);
  const pairs = (args as readonly unknown[]).map((each) => /^([^=]+)=(.*)$/s.exec(String(each)));
  return Object.fromEntries(pairs.flatMap((pair) => (pair === null ? [] : [[pair[1]!, pair[2]!]])));
}
