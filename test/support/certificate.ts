/** Certificates for servers of tests. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newFolder } from './temp-folder';

/** For `openssl req`: a new key without a passphrase, of a kind that is made at once. */
export const newKey = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2'.split(' ');

/** A certificate for 127.0.0.1 and these names, which signs itself, in files. */
export function certificate(...names: readonly string[]): {
  cert: string;
  certFile: string;
  keyFile: string;
} {
  const folder = newFolder();
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const altNames = ['IP:127.0.0.1', ...names.map((name) => `DNS:${name}`)];
  const what = ['-subj', '/CN=localhost', '-addext', `subjectAltName=${altNames.join()}`];
  const files = ['-keyout', keyFile, '-out', certFile];
  execFileSync('openssl', ['req', '-x509', ...newKey, ...what, ...files], { stdio: 'ignore' });
  return { cert: readFileSync(certFile, 'utf8'), certFile, keyFile };
}
