/** One service of a Compose project, as far as it says which image it has. Source: Compose Specification. */
import type * as yaml from 'yaml';
import { CaiError, messageOf } from '../../errors';
import { quoted } from '../../system/quoted';
import { isObject, type Json, type JsonObject } from './json';

interface Service {
  /** Its keys; a later file's count more. */
  readonly service: JsonObject;
  /** The last file that has it. */
  readonly from: string;
}

/** Fails with `CaiError('CONFIG')` where no file has it. `named`: the file that names it. */
export function composeService(
  files: readonly string[],
  name: string | undefined,
  read: (path: string) => string | undefined,
  named: string,
): Service {
  if (name === undefined) throw new CaiError('CONFIG', `${named}: "dockerComposeFile" needs "service"`);
  let found: Service | undefined;
  for (const file of files) {
    const text = read(file);
    if (text === undefined)
      throw new CaiError('CONFIG', `${named} names ${quoted(file)}, which is not there`);
    const { services } = parsed(text, file);
    const service = isObject(services) && Object.hasOwn(services, name) ? services[name] : undefined;
    if (isObject(service)) found = { service: joined(found?.service ?? {}, service), from: file };
  }
  if (found !== undefined) return { ...found, service: withoutVariables(found.service) as JsonObject };
  throw new CaiError('CONFIG', `${named} names the service ${quoted(name)}, which no Compose file has`);
}

function parsed(text: string, file: string): JsonObject {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loaded only when it is wanted
  const { parse } = require('yaml') as typeof yaml;
  try {
    const value = parse(text, { merge: true }) as unknown;
    if (isObject(value)) return value;
  } catch (reason) {
    throw new CaiError('CONFIG', `${file}: ${messageOf(reason).split('\n')[0]}`);
  }
  throw new CaiError('CONFIG', `${file} holds no services`);
}

/** Of what matters here, only `build` is joined key by key. */
function joined(before: JsonObject, after: JsonObject): JsonObject {
  const [one, other] = [before.build, after.build];
  const build = isObject(one) && isObject(other) ? { build: { ...one, ...other } } : {};
  return { ...before, ...after, ...build };
}

/** No variable of this machine gets in: what holds without one. */
function withoutVariables(value: Json): Json {
  if (typeof value === 'string')
    return value
      .replace(/(?<!\$)\$\{\w+(?::?[-?+]([^{}]*))?\}/g, (whole, otherwise: string | undefined) =>
        /:?-/.test(whole) ? (otherwise ?? '') : '',
      )
      .replaceAll('$$', '$');
  if (Array.isArray(value)) return value.map(withoutVariables);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutVariables(each)]));
}
