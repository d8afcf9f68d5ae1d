/** The services of a Compose project, as its files have them. Source: Compose Specification. */
import { posix } from 'node:path';
import type * as yaml from 'yaml';
import { CaiError, messageOf } from '../../../errors';
import { quoted } from '../../../system/quoted';
import { isObject, maxLevels, textOf, textsOf, tooDeep, wordOf, type Json, type JsonObject } from '../json';
import { Variables, type Read } from './variables';

/** One service, as the last file that has it says. */
export interface ProjectService {
  /** Its keys, with variables as they are; a later file's count more. */
  readonly keys: JsonObject;
  readonly file: string;
  /** Where that file has it, from 1. */
  readonly line: number;
}

export interface ComposeProject {
  /** What paths in all files are relative to. */
  readonly folder: string;
  /** Name of the service that becomes the container of the agents. */
  readonly service: string;
  readonly services: ReadonlyMap<string, ProjectService>;
  readonly variables: Variables;
  /** Those of the files that ask for other files. */
  readonly including: readonly string[];
}

/** All files together, in bytes: somebody waits while they are parsed, which takes longer the more keys an object has. */
const maxBytes = 64 * 2 ** 10;

/**
 * What a devcontainer.json has as `dockerComposeFile`; `undefined`: it has none. Fails with `CaiError('CONFIG')` for files
 * that cannot be read or parsed.
 */
export function composeProject(settings: JsonObject, file: string, read: Read): ComposeProject | undefined {
  const { dockerComposeFile } = settings;
  if (dockerComposeFile === undefined) return undefined;
  const service = textOf(settings.service);
  if (service === undefined) throw new CaiError('CONFIG', `${file}: "dockerComposeFile" needs "service"`);
  const names = new Set(textsOf(dockerComposeFile));
  const files = [...names].map((name) => posix.resolve(posix.dirname(file), name));
  const services = new Map<string, ProjectService>();
  const including: string[] = [];
  let bytes = 0;
  for (const path of files) {
    const text = read(path);
    if (text === undefined) throw new CaiError('CONFIG', `${file} names ${quoted(path)}, which is not there`);
    bytes += Buffer.byteLength(text);
    if (bytes > maxBytes)
      throw new CaiError('CONFIG', `${path}: Compose files can have at most ${maxBytes / 2 ** 10} KiB`);
    const { content, lines } = parsed(text, path);
    if (content.include !== undefined) including.push(path);
    for (const [name, keys] of Object.entries(isObject(content.services) ? content.services : {}))
      if (isObject(keys)) {
        const before = services.get(name)?.keys ?? {};
        services.set(name, { keys: joined(before, keys), file: path, line: lines.get(name) ?? 1 });
      }
  }
  const folder = posix.dirname(files[0] ?? file);
  return { folder, service, services, variables: new Variables(folder, read), including };
}

/**
 * The service that becomes the container. Fails with `CaiError('CONFIG')` where no file has it. `named`: the file that
 * names it.
 */
export function mainService({ service, services, variables }: ComposeProject, named: string) {
  const found = services.get(service);
  if (found === undefined)
    throw new CaiError('CONFIG', `${named} names the service ${quoted(service)}, which no Compose file has`);
  const { build = null, image = null } = found.keys;
  return { keys: variables.replacedIn({ build, image }) as JsonObject, file: found.file };
}

function parsed(text: string, file: string): { content: JsonObject; lines: ReadonlyMap<string, number> } {
  const { LineCounter, isMap, isScalar } = library();
  try {
    const lineCounter = new LineCounter();
    const lineAt = (offset: number) => lineCounter.linePos(offset).line;
    const document = documentIn(text, lineCounter, file);
    const [error] = document.errors;
    if (error !== undefined) {
      const { line, col } = lineCounter.linePos(error.pos[0]);
      throw new Error(`${error.message} at line ${line}, column ${col}`);
    }
    checkKeys(document, lineAt);
    // Refuses aliases that would become much more than the text has.
    const content = document.toJS() as unknown;
    const services = document.get('services', true);
    const keys = (isMap(services) ? services.items : []).map(({ key }) => key).filter(isScalar);
    const lines = new Map(keys.map(({ value, range }) => [String(value), lineAt(range![0])]));
    if (isObject(content)) return { content, lines };
  } catch (reason) {
    if (reason instanceof CaiError) throw reason;
    throw new CaiError('CONFIG', `${file}: ${messageOf(reason).split('\n')[0]}`);
  }
  throw new CaiError('CONFIG', `${file} holds no services`);
}

/** The first document of a text. Fails with `CaiError('CONFIG')` for one with more than `maxLevels`. */
function documentIn(text: string, lineCounter: yaml.LineCounter, file: string): yaml.Document {
  const { Composer, Lexer, Parser } = library();
  const parser = new Parser(lineCounter.addNewLine);
  function* tokens() {
    lineCounter.addNewLine(0);
    for (const lexeme of new Lexer().lex(text)) {
      for (const token of parser.next(lexeme)) {
        yield token;
        if (token.type === 'error') return;
      }
      // What is open: the composer goes down in it level by level.
      if (parser.stack.length > maxLevels) throw tooDeep(file, lineCounter.linePos(parser.offset).line);
    }
    yield* parser.end();
  }
  // The library looks for two equal keys by comparing each with all before it.
  const composer = new Composer({ merge: true, uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  return [...composer.compose(tokens(), true, text.length)][0]!;
}

/** Fails for two keys that are equal, and for one that is no word: it would be written as text, level by level. */
function checkKeys(document: yaml.Document, lineAt: (offset: number) => number): void {
  const { isScalar, visit } = library();
  visit(document, {
    Map: (_, { items, range }) => {
      const known = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) throw new Error(`a key of the object at line ${lineAt(range![0])} is no word`);
        if (known.has(key.value))
          throw new Error(
            `${quoted(String(key.value))} is twice in one object, again at line ${lineAt(key.range![0])}`,
          );
        known.add(key.value);
      }
    },
  });
}

function library(): typeof yaml {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded only when it is wanted
  return require('yaml') as typeof yaml;
}

/** These are joined name by name; of all others, the later one counts. */
function joined(before: JsonObject, after: JsonObject): JsonObject {
  const both = ['build', 'environment', 'healthcheck', 'deploy'].flatMap((key) => {
    const [one, other] = [before[key], after[key]].map((value) =>
      key === 'environment' && value !== undefined ? byName(value) : value,
    );
    return isObject(one) && isObject(other) ? [[key, { ...one, ...other }] as const] : [];
  });
  return { ...before, ...after, ...Object.fromEntries(both) };
}

/** Variables by name, which files can have as a list, too: `NAME=value`; `null`: without a value. */
export function byName(variables: Json): JsonObject {
  if (isObject(variables)) return variables;
  const words = [variables].flat().flatMap((each) => wordOf(each) ?? []);
  return Object.fromEntries(
    words.map((word) => {
      const [, name = word, value = null] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
      return [name, value];
    }),
  );
}
