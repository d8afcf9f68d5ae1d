/** The certificate of the server, and whose certificates of clients it takes. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { TlsOptions } from 'node:tls';
import { checkFilePath } from '../../../config/chosen-path';
import { configFileOf, type Config } from '../../../config/config';
import { CaiError } from '../../../errors';
import { AgentFolders } from '../../../system/paths/agent-folders';
import type { Host } from '../../../system/host';
import { reading } from '../../../system/unless';

/**
 * For `tls.createServer` and all that builds on it; `undefined`: the configuration names no certificate. A client may
 * have a certificate of `client_ca` or no certificate: who has none needs a token. Throws `CaiError('CONFIG')`.
 */
export function tlsOptionsOf(host: Host, serve: Config['serve']): TlsOptions | undefined {
  const { tlsCert, tlsKey, clientCa } = serve;
  if (tlsCert === undefined || tlsKey === undefined) {
    if (tlsCert === tlsKey && clientCa === undefined) return undefined;
    const missing = tlsCert === undefined ? 'tls_cert' : 'tls_key';
    throw new CaiError(
      'CONFIG',
      `${configFileOf(host)}: [serve] lacks "${missing}", without which there is no TLS`,
    );
  }
  const folders = new AgentFolders(host.folders.state);
  const read = (key: string, named: string): Buffer => {
    // On the command line it may be relative.
    const path = resolve(named);
    checkFilePath(host, { key: `serve.${key}`, path, root: undefined }, folders);
    return reading(`${path}, which "${key}" in [serve] names,`, () => readFileSync(path));
  };
  return {
    cert: read('tls_cert', tlsCert),
    key: read('tls_key', tlsKey),
    minVersion: 'TLSv1.2',
    // One that does not fit counts as none.
    ...(clientCa !== undefined && {
      ca: read('client_ca', clientCa),
      requestCert: true,
      rejectUnauthorized: false,
    }),
  };
}
