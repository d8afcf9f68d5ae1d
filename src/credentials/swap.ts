/** Puts a key into a request in the place of its placeholder. */
import { headerOf, serviceOf, type Credential } from './services';

/** The part of a request in which a key can stand. */
export interface Keyable {
  /** Path and query. */
  readonly path: string;
  /** Names and values, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Servers show what they get in any other header, or in the query: in what they refuse, and in links. */
const forKeys = ['authorization', 'x-api-key', 'x-goog-api-key'];

/**
 * The request with the key: instead of the placeholder where that is all that a header for keys holds, after the name of
 * the scheme, or a half of a `Basic` pair. For a host that is no service, or with a header of its own, that header is set
 * whatever the request has.
 */
export function withKey({ path, headers }: Keyable, credential: Credential, key: string): Keyable {
  const { placeholder, parameter } = serviceOf(credential);
  if (placeholder === '' || credential.header !== undefined) {
    const { name, prefix } = headerOf(credential);
    return { path, headers: withHeader(headers, name, `${prefix}${key}`) };
  }
  const swapped = headers.map(
    ([name, value]) =>
      [name, forKeys.includes(name.toLowerCase()) ? inValue(value, placeholder, key) : value] as const,
  );
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

function inValue(value: string, placeholder: string, key: string): string {
  const [, scheme = '', rest] = /^(\S+ +)?(\S+)$/.exec(value) ?? [];
  if (rest === placeholder) return `${scheme}${key}`;
  if (rest === undefined || !/^basic /i.test(scheme)) return value;
  const [, user, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(rest, 'base64').toString('latin1')) ?? [];
  if (user !== placeholder && password !== placeholder) return value;
  const pair = [user, password].map((each) => (each === placeholder ? key : each)).join(':');
  return `${scheme}${Buffer.from(pair, 'latin1').toString('base64')}`;
}
