/** What of a devcontainer.json is not done, and is told. */
import { quoted } from '../../system/quoted';
import { isObject, type JsonObject } from './json';

const ignored = [
  ...['initializeCommand', 'postAttachCommand', 'privileged', 'capAdd', 'securityOpt', 'runArgs', 'mounts'],
  ...['workspaceMount', 'workspaceFolder', 'appPort', 'entrypoint', 'hostRequirements', 'secrets'],
];

/** Of `build`: both could name files of this machine, or give the build more rights. */
const ignoredOfBuild = ['options', 'cacheFrom'];

/** The keys that are there and are ignored: `runArgs`, `build.options`. */
export function ignoredKeys(settings: JsonObject): string[] {
  const keys = ignored.filter((key) => isSaid(settings[key]));
  const { build } = settings;
  const ofBuild = ignoredOfBuild.filter((key) => isObject(build) && isSaid(build[key]));
  return [...keys, ...ofBuild.map((key) => `build.${key}`)];
}

/** What a feature is called there, by the name that a devcontainer.json has for it. */
export function featureTitle(name: string): string {
  return `the feature ${quoted(name)}`;
}

/** A sentence for all that is ignored; none where nothing is. `whose`: the file, or the feature. */
export function ignoredNotice(whose: string, settings: JsonObject): string[] {
  const keys = ignoredKeys(settings);
  return keys.length === 0 ? [] : [ignoredSentence(whose, keys)];
}

/** That sentence, of at least one key. */
export function ignoredSentence(whose: string, keys: readonly string[]): string {
  const [last, ...before] = keys.map((key) => quoted(key)).reverse();
  const list = before.length === 0 ? `${last} is` : `${before.reverse().join(', ')} and ${last} are`;
  return `${whose}: ${list} ignored: nothing of it runs on this machine, and the container gets no more than your own configuration gives it`;
}

/** Whether a key with that value asks for something. */
export function isSaid(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false) return false;
  return !(Array.isArray(value) && value.length === 0);
}
