/**
 * `src/network/keys/authority.ts`, which makes an identity once per host and authority and file of tests: making one takes
 * a tenth of a second of the processor. For `jest.mock`.
 */
import type * as Authority from '../../src/network/keys/authority';

const real = jest.requireActual<typeof Authority>('../../src/network/keys/authority');
const made = new Map<string, Promise<Authority.Identity>>();

export const { authorityId, authorityOf, findAuthority } = real;

export function identityFor(host: string, authority: Authority.Identity): Promise<Authority.Identity> {
  const key = `${host} ${authority.cert}`;
  const identity = made.get(key) ?? real.identityFor(host, authority);
  made.set(key, identity);
  return identity;
}
