/** Puts a key into a request in the place of its placeholder. */
import { headerOf, serviceOf, type Credential } from './services';

/** The part of a request in which a key can stand. */
export interface Keyable {
  /** Path and query. */
  readonly path: string;
  /** Names and values, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/**
 * The request with the key: instead of the placeholder, also within `Basic` credentials and in the query. For a host
 * that is no service, or with a header of its own, that header is set whatever the request has.
 */
export function withKey({ path, headers }: Keyable, credential: Credential, key: string): Keyable {
  const { placeholder } = serviceOf(credential);
  if (placeholder === '' || credential.header !== undefined) {
    const { name, prefix } = headerOf(credential);
    const others = headers.filter(([each]) => each.toLowerCase() !== name.toLowerCase());
    return { path, headers: [...others, [name, `${prefix}${key}`]] };
  }
  const swapped = headers.map(([name, value]) => [name, inValue(value, placeholder, key)] as const);
  const at = path.indexOf('?');
  const query = at === -1 ? '' : path.slice(at).replaceAll(placeholder, () => encodeURIComponent(key));
  return { path: at === -1 ? path : path.slice(0, at) + query, headers: swapped };
}

function inValue(value: string, placeholder: string, key: string): string {
  const [, scheme, encoded = ''] = /^(basic )([\w+/=]+)$/i.exec(value) ?? [];
  if (scheme === undefined) return value.replaceAll(placeholder, () => key);
  const pair = Buffer.from(encoded, 'base64').toString('latin1');
  if (!pair.includes(placeholder)) return value;
  return (
    scheme +
    Buffer.from(
      pair.replaceAll(placeholder, () => key),
      'latin1',
    ).toString('base64')
  );
}
