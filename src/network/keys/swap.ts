/** Puts keys and tokens into a request in the place of their placeholders. */
import { headerOf, serviceOf, type Credential } from './services';
import { readPlaceholder, type TokenPlaceholder } from './token-placeholder';

/** The part of a request in which a key can stand. */
export interface Keyable {
  readonly path: string;
  /** Names and values, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** In no other header, and not in the query: servers show those in their errors and links. */
const forKeys = ['authorization', 'x-api-key', 'x-goog-api-key'];

/** What a text stands for; `undefined`: it is no placeholder. */
type StandsFor = (text: string) => string | undefined;

/**
 * The headers, with placeholders replaced in those for keys. A placeholder counts only if it is the whole value after the
 * name of the scheme, or one half of a `Basic` pair.
 */
export function withSwapped(headers: Keyable['headers'], standsFor: StandsFor): Keyable['headers'] {
  return headers.map(([name, value]) => [
    name,
    forKeys.includes(name.toLowerCase()) ? inValue(value, standsFor) : value,
  ]);
}

/** The placeholders of tokens where `withSwapped` replaces them. */
export function placeholdersIn(headers: Keyable['headers']): TokenPlaceholder[] {
  const found: (TokenPlaceholder | undefined)[] = [];
  withSwapped(headers, (text) => void found.push(readPlaceholder(text)));
  return found.filter((each) => each !== undefined);
}

/**
 * The request with the key in the place of its placeholder. For a host that is no service, or with its own header,
 * that header is set whatever the request has.
 */
export function withKey({ path, headers }: Keyable, credential: Credential, key: string): Keyable {
  const { placeholder, parameter } = serviceOf(credential);
  if (placeholder === '' || credential.header !== undefined) {
    const { name, prefix } = headerOf(credential);
    return { path, headers: withHeader(headers, name, `${prefix}${key}`) };
  }
  const swapped = withSwapped(headers, (text) => (text === placeholder ? key : undefined));
  const [, base = path, query = ''] = /^([^?]*)\?(.*)$/.exec(path) ?? [];
  const given = query.split('&');
  const others = given.filter(
    (each) => parameter === undefined || each !== `${parameter.name}=${placeholder}`,
  );
  if (parameter === undefined || others.length === given.length) return { path, headers: swapped };
  return {
    path: others.length === 0 ? base : `${base}?${others.join('&')}`,
    headers: withHeader(swapped, parameter.header, key),
  };
}

function withHeader(headers: Keyable['headers'], name: string, value: string): Keyable['headers'] {
  return [...headers.filter(([each]) => each.toLowerCase() !== name.toLowerCase()), [name, value]];
}

function inValue(value: string, standsFor: StandsFor): string {
  const [, scheme = '', rest] = /^(\S+ +)?(\S+)$/.exec(value) ?? [];
  if (rest === undefined) return value;
  const whole = standsFor(rest);
  if (whole !== undefined) return `${scheme}${whole}`;
  if (!/^basic /i.test(scheme)) return value;
  const [, ...halves] = /^([^:]*):(.*)$/s.exec(Buffer.from(rest, 'base64').toString('latin1')) ?? [];
  const swapped = halves.map(standsFor);
  if (swapped.every((each) => each === undefined)) return value;
  const pair = halves.map((half, at) => swapped[at] ?? half).join(':');
  return `${scheme}${Buffer.from(pair, 'latin1').toString('base64')}`;
}
