/** What of a Compose project runs beside the container of the agents: its services, as `[[services]]` has them. */
import { CaiError } from '../../../errors';
import { quoted } from '../../../system/quoted';
import { ignoredSentence, isSaid } from '../ignored';
import { serviceSource, type BuildSource, type ImageSource } from '../image-source';
import { isObject, textOf, textsIn, textsOf, wordOf, type Json, type JsonObject } from '../json';
import { byName, type ComposeProject, type ProjectService } from './project';
import { sizeOf, wordsOf } from './words';
import { withoutEnd } from '../../../system/paths/without-end';

/** A service that runs beside the container of the agents. */
export interface BesideService {
  readonly name: string;
  /** The keys of `[[services]]` by their names, `undefined` for those without a value; not checked. */
  readonly table: Readonly<Record<string, unknown>>;
  /** Where a file has it: `FILE:LINE`. */
  readonly from: string;
  /** What its image is built from; absent: `table` says which image is pulled. */
  readonly build?: BuildSource;
}

/** What there is, and a sentence for each service of which something is not done. */
interface Beside {
  /** The variables of the service that becomes the container of the agents. */
  readonly env: Readonly<Record<string, string>>;
  readonly services: readonly BesideService[];
  readonly notices: readonly string[];
}

const taken = [
  'image',
  'build',
  'command',
  'environment',
  'env_file',
  'healthcheck',
  'volumes',
  'depends_on',
  'mem_limit',
  'deploy',
];
/** Without them a service is the same, beside one container and for nobody else. */
const harmless = [
  ...['restart', 'container_name', 'labels', 'annotations', 'logging', 'expose', 'profiles', 'attach'],
  ...['tty', 'stdin_open', 'pull_policy', 'stop_grace_period', 'init'],
];

/** Of `build`; all else of it would reach more than the context, or changes nothing. */
const takenOfBuild = ['context', 'dockerfile', 'args', 'target'];

/** `file`: the devcontainer.json with these settings. `addBuild` reads what an image is built from; it fails with `CaiError('CONFIG')`. */
export function servicesBeside(
  project: ComposeProject,
  settings: JsonObject,
  file: string,
  addBuild: (source: BuildSource) => void,
): Beside {
  const services: BesideService[] = [];
  const notices = [
    `${quoted(file)}: only the image and the variables of the service ${quoted(project.service)} are used: its other settings are ignored`,
    ...project.including.map((each) => ignoredSentence(quoted(each), ['include'])),
  ];
  const { names, completed } = chosen(project, settings);
  for (const name of names) {
    const service = project.services.get(name);
    try {
      if (service === undefined) throw new CaiError('CONFIG', 'no Compose file has it');
      const { source, table, ignored } = new Reader(name, service, project).run(completed.has(name));
      const from = `${service.file}:${service.line}`;
      if ('dockerfile' in source) addBuild(source);
      services.push({
        name,
        from,
        ...('image' in source ? { table: { ...table, ...source } } : { table, build: source }),
      });
      if (ignored.length > 0)
        notices.push(ignoredSentence(`${quoted(service.file)}: service ${quoted(name)}`, ignored));
    } catch (reason) {
      if (!(reason instanceof CaiError)) throw reason;
      notices.push(notStarted(service?.file ?? file, name, reason.message));
    }
  }
  return { env: ownVariables(project, notices), services, notices };
}

function ownVariables(project: ComposeProject, notices: string[]): Beside['env'] {
  const { service: name, services } = project;
  try {
    const variables = new Reader(name, services.get(name)!, project).env();
    return Object.fromEntries(
      variables.map((each) => [each.replace(/=.*/s, ''), each.slice(each.indexOf('=') + 1)]),
    );
  } catch (reason) {
    if (!(reason instanceof CaiError)) throw reason;
    notices.push(
      `${quoted(services.get(name)!.file)}: the variables of the service ${quoted(name)} are not set, because ${reason.message}`,
    );
    return {};
  }
}

/** That a service does not run. */
export function notStarted(file: string, name: string, why: string): string {
  return `${quoted(file)}: the service ${quoted(name)} is not started, because ${why}`;
}

/**
 * As Compose starts them: those that are named, else all without a profile, and what these depend on; those of them that
 * others want to have ended.
 */
function chosen({ service, services }: ComposeProject, { runServices }: JsonObject) {
  const named = textsOf(runServices);
  const all = [...services].filter(([, { keys }]) => !isSaid(keys.profiles)).map(([name]) => name);
  const names = new Set([service, ...(named.length > 0 ? named : all)]);
  const completed = new Set<string>();
  // A set goes on to what is added to it meanwhile.
  for (const name of names) {
    for (const [each, condition] of dependencies(services.get(name)?.keys)) {
      names.add(each);
      if (condition === 'service_completed_successfully') completed.add(each);
    }
  }
  names.delete(service);
  return { names, completed };
}

/** Names of services, each with what is to be so before this one starts. */
function dependencies({ depends_on: on }: JsonObject = {}): (readonly [string, Json])[] {
  if (!isObject(on)) return textsOf(on).map((name) => [name, 'service_started']);
  return Object.entries(on).map(([name, how]) => [
    name,
    (isObject(how) ? how.condition : undefined) ?? 'service_started',
  ]);
}

class Reader {
  readonly #keys: JsonObject;
  readonly #ignored: string[];

  constructor(
    private readonly name: string,
    private readonly service: ProjectService,
    private readonly project: ComposeProject,
  ) {
    const { keys } = service;
    const wanted = Object.entries(keys).filter(([key]) => taken.includes(key));
    this.#keys = project.variables.replacedIn(Object.fromEntries(wanted)) as JsonObject;
    this.#ignored = others(keys, [...taken, ...harmless]).filter((key) => !key.startsWith('x-'));
  }

  /** `ends`: whether it ends by itself. Fails with `CaiError('CONFIG')` for a service that would not be what the file says. */
  run(ends: boolean) {
    const after = dependencies(this.#keys).flatMap(([name, condition]) =>
      condition === 'service_started' || name === this.project.service ? [] : [name],
    );
    const table = {
      name: this.name,
      command: this.#command(this.#keys.command),
      env: this.env(),
      after: after.length > 0 ? after : undefined,
      ends: ends || undefined,
      health: this.#health(),
      volume: this.#volume(),
      memory: this.#memory(),
    };
    return { source: this.#source(), table, ignored: this.#ignored };
  }

  #source(): ImageSource {
    const { build, image = null } = this.#keys;
    if (build !== undefined && isSaid(build)) {
      this.#ignored.push(...others(build, takenOfBuild).map((key) => `build.${key}`));
      return serviceSource({ build }, this.service.file, this.project);
    }
    const name = textOf(image);
    if (name === undefined) throw new CaiError('CONFIG', 'it has no "image" and no "build"');
    return { image: name };
  }

  #command(value: Json | undefined): readonly string[] | undefined {
    if (!isSaid(value)) return undefined;
    const words = Array.isArray(value)
      ? value.map((each) => wordOf(each as Json))
      : wordsOf(wordOf(value) ?? '');
    if (words?.every((word) => word !== undefined) === true && words.length > 0) return words;
    throw new CaiError('CONFIG', 'its "command" has a quotation mark without an end, or is no list of words');
  }

  /** Its variables, each `NAME=value`. Fails with `CaiError('CONFIG')`. */
  env(): string[] {
    const found = new Map<string, string>();
    const files = [this.#keys.env_file ?? []].flat() as readonly Json[];
    for (const each of files) {
      const path = textOf(isObject(each) ? each.path : each);
      if (path === undefined) continue;
      const variables = this.project.variables.inFile(path);
      if (variables === undefined && !(isObject(each) && each.required === false))
        throw new CaiError('CONFIG', `its "env_file" ${quoted(path)} is not there`);
      for (const [name, value] of variables ?? []) found.set(name, value);
    }
    for (const [name, value] of Object.entries(byName(this.#keys.environment ?? []))) {
      const word = wordOf(value);
      // It would be one of this machine.
      if (word === undefined) this.#ignored.push(`environment.${name}`);
      else found.set(name, word);
    }
    return [...found].map(([name, value]) => `${name}=${value}`);
  }

  #health(): readonly string[] | undefined {
    const { healthcheck } = this.#keys;
    if (!isObject(healthcheck) || healthcheck.disable === true) return undefined;
    const { test } = healthcheck;
    const [kind, ...words] = (Array.isArray(test) ? test : ['CMD-SHELL', test]) as Json[];
    const command = words.flatMap((each) => wordOf(each) ?? []);
    if (command.length === 0) return undefined;
    if (kind === 'CMD-SHELL') return ['/bin/sh', '-c', command.join(' ')];
    return kind === 'CMD' ? command : undefined;
  }

  /** The folder in which the first volume with a name is mounted. */
  #volume(): string | undefined {
    let target: string | undefined;
    for (const each of [this.#keys.volumes ?? []].flat() as readonly Json[]) {
      const written = textOf(each);
      const { source, target: inside, type } = isObject(each) ? textsIn(each) : volumeIn(written ?? '');
      const isNamed = type === 'volume' && /^\w[\w.-]*$/.test(source ?? '') && inside !== undefined;
      if (isNamed && target === undefined) target = withoutEnd(inside, '/') || inside.slice(0, 1);
      else this.#ignored.push(`volumes: ${written ?? source ?? inside ?? ''}`);
    }
    return target;
  }

  #memory(): string | undefined {
    const { mem_limit: own, deploy } = this.#keys;
    const resources = isObject(deploy) ? deploy.resources : undefined;
    const limits = isObject(resources) ? resources.limits : undefined;
    this.#ignored.push(
      ...others(deploy, ['resources']).map((key) => `deploy.${key}`),
      ...others(resources, ['limits']).map((key) => `deploy.resources.${key}`),
      ...others(limits, ['memory']).map((key) => `deploy.resources.limits.${key}`),
    );
    const value = wordOf(own) ?? wordOf(isObject(limits) ? limits.memory : undefined);
    return value === undefined ? undefined : sizeOf(value);
  }
}

/** The short form of a volume. */
function volumeIn(text: string): Record<'source' | 'target' | 'type', string | undefined> {
  const [source, target] = text.split(':');
  return { source, target, type: 'volume' };
}

/** The keys of an object that say something, but for those. */
function others(value: Json | undefined, but: readonly string[]): string[] {
  const entries = isObject(value) ? Object.entries(value) : [];
  return entries.filter(([key, each]) => !but.includes(key) && isSaid(each)).map(([key]) => key);
}
