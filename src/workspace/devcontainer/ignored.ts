/** What of a devcontainer.json is not done, and is told. */
import { isObject, textOf, type JsonObject } from './json';

/** Each with what makes it worth telling. */
const ignored: Readonly<Record<string, (value: unknown) => boolean>> = {
  initializeCommand: isSaid,
  postAttachCommand: isSaid,
  privileged: (value) => value === true,
  capAdd: isSaid,
  securityOpt: isSaid,
  runArgs: isSaid,
  mounts: isSaid,
  workspaceMount: isSaid,
  workspaceFolder: isSaid,
  appPort: isSaid,
  entrypoint: isSaid,
  hostRequirements: isSaid,
  secrets: isSaid,
};

/** Of `build`: both could name files of this machine, or give the build more rights. */
const ignoredOfBuild = ['options', 'cacheFrom'];

/** The keys that are there and are ignored: `runArgs`, `build.options`. */
export function ignoredKeys(settings: JsonObject): string[] {
  const keys = Object.keys(ignored).filter(
    (key) => Object.hasOwn(settings, key) && ignored[key]!(settings[key]),
  );
  const { build } = settings;
  const ofBuild = ignoredOfBuild.filter((key) => isObject(build) && isSaid(build[key]));
  return [...keys, ...ofBuild.map((key) => `build.${key}`)];
}

/** A sentence for all that is ignored; none where nothing is. `whose`: the file, or the feature. */
export function ignoredNotice(whose: string, settings: JsonObject): string[] {
  const keys = ignoredKeys(settings).map((key) => `"${key}"`);
  const last = keys.pop();
  if (last === undefined) return [];
  const list = keys.length === 0 ? `${last} is` : `${keys.join(', ')} and ${last} are`;
  return [
    `${whose}: ${list} ignored: nothing of it runs on this machine, and the container gets no more than your own configuration gives it`,
  ];
}

/** What is said of the rest of a Compose project. */
export function composeNotice(file: string, { dockerComposeFile, service }: JsonObject): string[] {
  if (dockerComposeFile === undefined) return [];
  return [
    `${file}: only the image of the service "${textOf(service)}" is used: its other settings, and other services, are ignored`,
  ];
}

function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return false;
  return !(Array.isArray(value) && value.length === 0);
}
