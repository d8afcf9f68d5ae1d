/** A development container of a repository, as its devcontainer.json describes it. A stranger wrote it. */
import type dockerignore from '@balena/dockerignore';
import { createHash } from 'node:crypto';
import { readdirSync, realpathSync } from 'node:fs';
import { posix } from 'node:path';
import { CaiError } from '../../errors';
import { servicesBeside, type BesideService } from './compose/beside';
import { composeProject } from './compose/project';
import { sourcesIn, type Sources } from './dockerfile-sources';
import { featureTitle, ignoredNotice } from './ignored';
import { imageSourceOf, type BuildSource, type ImageSource } from './image-source';
import { isObject, parseJson, type JsonObject } from './json';
import { Snapshot } from './snapshot';
import { substitute, type VariableValues } from './substitute';
import { quoted } from '../../system/quoted';
import { unlessFails } from '../../system/unless';
import { isInside } from '../../system/paths/is-inside';

/** What it is made from, read once. */
export interface Devcontainer {
  readonly file: string;
  readonly root: string;
  readonly text: string;
  readonly settings: JsonObject;
  readonly source: ImageSource;
  /** What the repository's own features say, by their names in the file. */
  readonly ownFeatures: ReadonlyMap<string, JsonObject>;
  /** What else of its Compose project runs. */
  readonly services: readonly BesideService[];
  /** A sentence for each part that is ignored. */
  readonly ignored: readonly string[];
  /** The file and everything that it names in the workspace. */
  readonly files: Snapshot;
  readonly digest: string;
}

/** Of one pattern in a .dockerignore; two that stand together are one. */
const maxStars = 3;

/** What may stand in for `localEnv`. */
export type LocalEnv = VariableValues['localEnv'];

/**
 * Reads the devcontainer.json of the workspace at `root`, and what it names there: the folder that it lies in, the
 * Dockerfile, what that copies of its context, the features of the repository, Compose files and the files with
 * variables that these use. Fails with `CaiError('CONFIG')` for what cannot be used, lies outside, or is too much.
 */
export function readDevcontainer(root: string, file: string, localEnv: LocalEnv): Devcontainer {
  const files = new Snapshot(root);
  const text = files.addText(file);
  if (text === undefined) throw new CaiError('CONFIG', `${file} is not there`);
  const settings = parseJson(text, file);
  const usable = substitute(settings, { localFolder: root, localEnv });
  const read = (path: string) => files.addFile(path)?.toString();
  const project = composeProject(usable, file, read);
  const source = imageSourceOf(usable, file, project);
  const add = once((build: BuildSource) => addBuild(files, build));
  const beside = project && servicesBeside(project, usable, file, add);
  const folder = posix.dirname(file);
  if (folder !== root) files.addAll(folder);
  const ownFeatures = new Map(
    [...localFeatures(settings, folder)].map(([place, name]) => [name, addFeature(files, place)]),
  );
  const ofFeatures = [...ownFeatures].flatMap(([name, asked]) => ignoredNotice(featureTitle(name), asked));
  if ('dockerfile' in source) add(source);
  const digest = files.digest(file);
  return {
    ...{ file, root, text, source, ownFeatures, files, digest },
    settings: beside === undefined ? settings : withVariables(settings, beside.env),
    services: (beside?.services ?? []).map((each) => withImage(each, digest, root)),
    ignored: [...ignoredNotice(quoted(file), settings), ...ofFeatures, ...(beside?.notices ?? [])],
  };
}

/** What the file itself says of a variable counts more. */
function withVariables(settings: JsonObject, env: Readonly<Record<string, string>>): JsonObject {
  const { containerEnv } = settings;
  return { ...settings, containerEnv: { ...env, ...(isObject(containerEnv) && containerEnv) } };
}

/** A service whose image is built has a name for it: the same in each worktree with the same files. */
function withImage(service: BesideService, digest: string, root: string): BesideService {
  const { build, table } = service;
  if (build === undefined) return service;
  const [dockerfile, context] = [build.dockerfile, build.context].map((path) => posix.relative(root, path));
  const madeFrom = JSON.stringify([digest, { ...build, dockerfile, context }]);
  const hash = createHash('sha256').update(madeFrom).digest('hex').slice(0, 12);
  return { ...service, table: { ...table, image: `containai:service-${hash}` } };
}

/** By their folders, each once: a name can be written in many ways. */
function localFeatures({ features }: JsonObject, folder: string): ReadonlyMap<string, string> {
  const names = isObject(features) ? Object.keys(features).filter((name) => /^\.\.?\//.test(name)) : [];
  return new Map(names.map((name) => [posix.resolve(folder, name), name]));
}

/** What its `devcontainer-feature.json` says. */
function addFeature(files: Snapshot, place: string): JsonObject {
  files.addAll(place);
  const file = posix.join(place, 'devcontainer-feature.json');
  const text = files.addText(file);
  return text === undefined ? {} : parseJson(text, file);
}

/** For many services from one Dockerfile and context: these are added, or fail, once. */
function once(add: (build: BuildSource) => void): (build: BuildSource) => void {
  const failures = new Map<string, CaiError | undefined>();
  return (build) => {
    const key = JSON.stringify([build.dockerfile, build.context]);
    const known = failures.get(key);
    if (known !== undefined) throw known;
    if (failures.has(key)) return;
    try {
      add(build);
      failures.set(key, undefined);
    } catch (reason) {
      if (reason instanceof CaiError) failures.set(key, reason);
      throw reason;
    }
  };
}

function addBuild(files: Snapshot, { dockerfile, context }: BuildSource): void {
  // The build gets a copy of what was read: a context that leads out of that would be a folder of this machine.
  files.checkInside(context);
  const text = files.addText(dockerfile);
  if (text === undefined) throw new CaiError('CONFIG', `the Dockerfile ${dockerfile} is not there`);
  const rules =
    ignoreRules(files, `${dockerfile}.dockerignore`) ??
    ignoreRules(files, posix.join(context, '.dockerignore')) ??
    '';
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded only when it is wanted
  const ignore = require('@balena/dockerignore') as typeof dockerignore;
  const isWanted = ignore({ ignorecase: false }).add(rules).createFilter();
  const patterns = rules.split('\n').filter((line) => line.trim() !== '').length;
  const isPart = (path: string): boolean => {
    if (path === context) return true;
    const name = posix.relative(context, path);
    files.countComparison(name, patterns, dockerfile);
    return isWanted(name);
  };
  // An exception can be deep within a folder that is left out: these are the folders up to the first "*" or its like.
  const exceptions = Array.from(rules.matchAll(/^[ \t]*![ \t/]*([^*?[\\\n]*)/gm), ([, start]) =>
    posix.dirname(posix.join(context, `${start}x`)),
  );
  const isEntered = (folder: string): boolean =>
    isPart(folder) || exceptions.some((each) => isInside(each, folder) || isInside(folder, each));
  for (const path of new Set(pathsOf(sourcesIn(text), context))) files.addAll(path, isPart, isEntered);
}

/** Fails with `CaiError('CONFIG')` for a pattern with so many stars that to compare names with it takes long. */
function ignoreRules(files: Snapshot, path: string): string | undefined {
  const rules = files.addText(path);
  const slow = rules?.split('\n').find((line) => (line.match(/\*+/g) ?? []).length > maxStars);
  if (slow === undefined) return rules;
  throw new CaiError('CONFIG', `${path} has a pattern with more than ${maxStars} stars: write it with fewer`);
}

/** With `*` and its like, all that fits up to there, with everything below. */
function pathsOf(sources: Sources, context: string): string[] {
  if (sources === 'all') return [context];
  return sources.flatMap((source) => {
    const parts = source.split('/');
    const first = parts.findIndex((part) => /[*?[\\]/.test(part));
    const path = posix.resolve(context, first === -1 ? source : parts.slice(0, first).join('/'));
    // What leads out of the context is never in it.
    if (!isInside(path, context)) return [];
    if (first === -1) return [path];
    const names = unlessFails(() => readdirSync(realpathSync(path))) ?? [];
    return names.filter((name) => fits(name, parts[first]!)).map((name) => posix.join(path, name));
  });
}

/**
 * A pattern with a set of characters or many stars stands for any name: too much rather than too little, as the time for
 * many stars would grow without limit.
 */
function fits(name: string, pattern: string): boolean {
  if (pattern.includes('[') || pattern.split('*').length > 3) return true;
  const form = pattern
    .replace(/\\./g, '?')
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${form}$`, 's').test(name);
}
