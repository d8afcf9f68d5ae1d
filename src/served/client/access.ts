/** What a client shows to a server and wants to see of it: a token, certificates. Nothing of it is ever logged. */
import { readFileSync } from 'node:fs';
import { CaiError } from '../../errors';
import { authoritiesWith } from '../../network';
import { reading, unlessGone } from '../../system/unless';
import type { Address } from './address';

export interface AccessOptions {
  /** A file with a token; it comes before `token`. */
  readonly tokenFile?: string | undefined;
  /** A token from the environment; empty counts as none. */
  readonly token?: string | undefined;
  /** The token of this user's own server, which need not be there. */
  readonly ownTokenFile: string;
  /** Authorities besides the usual ones, PEM. */
  readonly caFile?: string | undefined;
  readonly certFile?: string | undefined;
  /** Its key, PEM. */
  readonly keyFile?: string | undefined;
  readonly uid: number;
  /** The proxy of the user that leads to a server on another machine. */
  readonly proxyTo?: (url: URL) => URL | undefined;
}

export interface Access {
  readonly headers: Readonly<Record<string, string>>;
  /** They are for a program of this user or of root alone, whatever else listens there. */
  readonly onlyFor?: number;
  /** The proxy that leads there. */
  readonly proxy?: URL;
  readonly tls: { readonly ca?: string[]; readonly cert?: string; readonly key?: string };
}

/**
 * Reads what there is for this address. Fails with `CaiError('USAGE')` if a token would be sent where others can read
 * it, and with `CaiError('CONFIG')` for a file that cannot be used.
 */
export function accessTo(address: Address, options: AccessOptions): Access {
  const { caFile, certFile, keyFile, uid } = options;
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new CaiError('USAGE', '--client-cert and --client-key need each other');
  const token = tokenFor(address, options);
  const ca = authoritiesWith(caFile);
  const proxy = address.socketPath === undefined ? options.proxyTo?.(new URL(address.url)) : undefined;
  return {
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    // Any user of the machine may listen there while no server runs. A certificate shows who it is.
    ...(token !== undefined && !address.isEncrypted && { onlyFor: uid }),
    ...(proxy !== undefined && { proxy }),
    tls: {
      ...(ca !== undefined && { ca }),
      ...(certFile !== undefined && { cert: read('--client-cert', certFile) }),
      ...(keyFile !== undefined && { key: read('--client-key', keyFile) }),
    },
  };
}

function tokenFor(address: Address, { tokenFile, token, ownTokenFile }: AccessOptions): string | undefined {
  const given =
    tokenFile !== undefined
      ? usable('--token-file', read('--token-file', tokenFile))
      : token !== undefined && token !== ''
        ? usable('CAI_CONNECT_TOKEN', token)
        : undefined;
  const isPrivate = address.isEncrypted || address.isLoopback || address.socketPath !== undefined;
  if (given !== undefined && !isPrivate)
    throw new CaiError(
      'USAGE',
      `the token would be sent unencrypted to ${address.shown}: use ${address.isLines === true ? 'tls' : 'wss'}://`,
    );
  return given ?? (address.isLoopback ? ownToken(ownTokenFile) : undefined);
}

function ownToken(file: string): string | undefined {
  const readToken = () => unlessGone(() => readFileSync(file, 'utf8'));
  const text = reading(`the token of this machine: ${file}`, readToken);
  return text === undefined ? undefined : usable(file, text);
}

/** A header carries no other characters. */
function usable(what: string, text: string): string {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new CaiError('CONFIG', `${what} does not hold a token: it must be one word of ASCII characters`);
}

function read(what: string, file: string): string {
  return reading(`${what}: ${file}`, () => readFileSync(file, 'utf8'));
}
