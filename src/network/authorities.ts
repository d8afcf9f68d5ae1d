/** The certificate authorities that this machine trusts when it asks others. */
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import { reading } from '../system/unless';

/**
 * The usual ones and those in the file that `network.ca_file` names, as PEM; `undefined`: it names none. Fails with
 * `CaiError('CONFIG')` if that cannot be read.
 */
export function authoritiesWith(caFile: string | undefined): string[] | undefined {
  if (caFile === undefined) return undefined;
  return [...rootCertificates, reading(`network.ca_file: ${caFile}`, () => readFileSync(caFile, 'utf8'))];
}
