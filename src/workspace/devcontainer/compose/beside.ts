/** What of a Compose project runs beside the container of the agents: its services, as `[[services]]` has them. */
import { CaiError } from '../../../errors';
import { quoted } from '../../../system/quoted';
import { ignoredSentence, isSaid } from '../ignored';
import { isObject, textOf, textsIn, textsOf, wordOf, type Json, type JsonObject } from '../json';
import { byName, type ComposeProject, type ProjectService } from './project';
import { sizeOf, wordsOf } from './words';
import { withoutEnd } from '../../../system/paths/without-end';

export interface BesideService {
  readonly name: string;
  /** The keys of `[[services]]` by their names, `undefined` for those without a value; not checked. */
  readonly table: Readonly<Record<string, unknown>>;
  /** Where a file has it: `FILE:LINE`. */
  readonly from: string;
}

/** What there is, and a sentence for each service of which something is not done. */
interface Beside {
  readonly services: readonly BesideService[];
  readonly notices: readonly string[];
}

const taken = [
  'image',
  'command',
  'environment',
  'env_file',
  'healthcheck',
  'volumes',
  'mem_limit',
  'deploy',
];
/** Without them a service is the same, beside one container and for nobody else. */
const harmless = [
  ...['depends_on', 'restart', 'container_name', 'labels', 'annotations', 'logging', 'expose', 'profiles'],
  ...['attach', 'tty', 'stdin_open', 'pull_policy', 'stop_grace_period', 'init'],
];

/** `file`: the devcontainer.json with these settings. */
export function servicesBeside(project: ComposeProject, settings: JsonObject, file: string): Beside {
  const services: BesideService[] = [];
  const notices = [
    `${quoted(file)}: only the image of the service ${quoted(project.service)} is used: its other settings are ignored`,
    ...project.including.map((each) => ignoredSentence(quoted(each), ['include'])),
  ];
  for (const name of chosen(project, settings)) {
    const service = project.services.get(name);
    try {
      if (service === undefined) throw new CaiError('CONFIG', 'no Compose file has it');
      const { table, ignored } = new Reader(name, service, project).run();
      services.push({ name, table, from: `${service.file}:${service.line}` });
      if (ignored.length > 0)
        notices.push(ignoredSentence(`${quoted(service.file)}: service ${quoted(name)}`, ignored));
    } catch (reason) {
      if (!(reason instanceof CaiError)) throw reason;
      notices.push(notStarted(service?.file ?? file, name, reason.message));
    }
  }
  return { services, notices };
}

/** That a service does not run. */
export function notStarted(file: string, name: string, why: string): string {
  return `${quoted(file)}: the service ${quoted(name)} is not started, because ${why}`;
}

/** As Compose starts them: those that are named, else all without a profile, and what these depend on. */
function chosen({ service, services }: ComposeProject, { runServices }: JsonObject): Set<string> {
  const named = textsOf(runServices);
  const all = [...services].filter(([, { keys }]) => !isSaid(keys.profiles)).map(([name]) => name);
  const names = new Set([service, ...(named.length > 0 ? named : all)]);
  // A set goes on to what is added to it meanwhile.
  for (const name of names) {
    const on = services.get(name)?.keys.depends_on;
    for (const each of isObject(on) ? Object.keys(on) : textsOf(on)) names.add(each);
  }
  names.delete(service);
  return names;
}

/** Reads one service. */
class Reader {
  readonly #keys: JsonObject;
  readonly #ignored: string[];

  constructor(
    private readonly name: string,
    { keys }: ProjectService,
    private readonly project: ComposeProject,
  ) {
    const wanted = Object.entries(keys).filter(([key]) => taken.includes(key));
    this.#keys = project.variables.replacedIn(Object.fromEntries(wanted)) as JsonObject;
    this.#ignored = others(keys, [...taken, ...harmless]).filter((key) => !key.startsWith('x-'));
    if (textOf(keys.image) === undefined)
      throw new CaiError(
        'CONFIG',
        keys.build === undefined ? 'it has no "image"' : 'it has only "build", and cai pulls an "image"',
      );
  }

  /** Fails with `CaiError('CONFIG')` for a service that would not be what the file says. */
  run() {
    const table = {
      name: this.name,
      image: this.#keys.image,
      command: this.#command(this.#keys.command),
      env: this.#env(),
      health: this.#health(),
      volume: this.#volume(),
      memory: this.#memory(),
    };
    return { table, ignored: this.#ignored };
  }

  #command(value: Json | undefined): readonly string[] | undefined {
    if (!isSaid(value)) return undefined;
    const words = Array.isArray(value)
      ? value.map((each) => wordOf(each as Json))
      : wordsOf(wordOf(value) ?? '');
    if (words?.every((word) => word !== undefined) === true && words.length > 0) return words;
    throw new CaiError('CONFIG', 'its "command" has a quotation mark without an end, or is no list of words');
  }

  #env(): string[] {
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
