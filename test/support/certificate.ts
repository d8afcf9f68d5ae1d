/** Certificates for servers of tests. */
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pki } from 'node-forge';
import { newFolder } from './temp-folder';

/** Making one takes long; which one it is matters to no test. */
let pair: { publicKey: pki.rsa.PublicKey; privateKey: pki.rsa.PrivateKey } | undefined;

/** A certificate for 127.0.0.1 and these names, which signs itself, in files. */
export function certificate(...names: readonly string[]): {
  cert: string;
  certFile: string;
  keyFile: string;
} {
  const { publicKey, privateKey } = (pair ??= newPair());
  const made = pki.createCertificate();
  made.publicKey = publicKey;
  made.serialNumber = '01';
  made.validity.notAfter = new Date(Date.now() + 86_400_000);
  const name = [{ name: 'commonName', value: 'localhost' }];
  made.setSubject(name);
  made.setIssuer(name);
  made.setExtensions([
    {
      name: 'subjectAltName',
      altNames: [{ type: 7, ip: '127.0.0.1' }, ...names.map((value) => ({ type: 2, value }))],
    },
  ]);
  made.sign(privateKey);
  const folder = newFolder();
  const cert = pki.certificateToPem(made);
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), pki.privateKeyToPem(privateKey), { mode: 0o600 });
  return { cert, certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') };
}

/** By Node, which is ten times as fast as node-forge. */
function newPair() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
  return { publicKey: pki.publicKeyFromPem(publicKey), privateKey: pki.privateKeyFromPem(privateKey) };
}
