/** What `@devcontainers/cli` gets to see: only keys that say what the image is made from, or what happens inside. */
import { posix } from 'node:path';
import type { Devcontainer, LocalEnv } from './devcontainer';
import type { JsonObject } from './json';
import { substitute } from './substitute';

/** They end in the image's metadata, as they are written. */
const keptKeys = [
  ...['overrideFeatureInstallOrder', 'remoteUser', 'containerUser', 'containerEnv', 'remoteEnv'],
  ...['onCreateCommand', 'updateContentCommand', 'postCreateCommand', 'postStartCommand', 'forwardPorts'],
];

/**
 * The devcontainer.json from which the image is built, in place of the repository's own. `options`: of the engine's
 * command, for the build.
 */
export function buildSettings(
  { file, root, settings, source }: Omit<Devcontainer, 'files'>,
  localEnv: LocalEnv,
  options: readonly string[],
): JsonObject {
  const kept: JsonObject = Object.fromEntries(
    keptKeys.flatMap((key) => (Object.hasOwn(settings, key) ? [[key, settings[key]!] as const] : [])),
  );
  const { features } = substitute({ features: settings.features ?? {} }, { localFolder: root, localEnv });
  const inFolder = (path: string) => posix.relative(posix.dirname(file), path) || '.';
  if ('image' in source) return { ...kept, features, image: source.image };
  const { dockerfile, context, args, target } = source;
  const build = {
    dockerfile: inFolder(dockerfile),
    context: inFolder(context),
    args,
    ...(target !== undefined && { target }),
    options,
  };
  return { ...kept, features, build };
}
