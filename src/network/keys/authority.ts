/**
 * The certificate authority by which containers take this machine for the hosts that get a key. Its key never leaves the
 * state folder and our memory; only containers of the same user trust it.
 */
import { createPrivateKey, generateKeyPair, randomBytes, sign, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { promisify } from 'node:util';
import type { asn1, pki } from 'node-forge';
import { CaiError, messageOf } from '../../errors';
import { ProcessLocks } from '../../system/process-lock';
import { replaceFile } from '../../system/files/replace-file';
import { stateRemedy } from '../../system/state-folder';
import { unlessGone } from '../../system/unless';

/** A certificate and its key, as PEM. */
export interface Identity {
  readonly cert: string;
  readonly key: string;
}

const name = [{ name: 'commonName', value: 'cai on this machine' }];
/** How long one that was made is good for, in days. A new one means new containers. */
const authorityDays = 3650;
/** Before its end a new one is made, in milliseconds. */
const renewMs = 30 * 86_400_000;
/** Longest that programs accept of a server. Source: CA/Browser Forum, Baseline Requirements, 6.3.2. */
const serverDays = 90;
const limitMs = 10_000;
const dayMs = 86_400_000;
/** Of all hosts: a key takes a tenth of a second and more. */
let keyOfHosts: Promise<KeyPair> | undefined;

/** The authority of the user, if there is one. Fails with `CaiError('CONFIG')` if it cannot be read. */
export function findAuthority(state: string): Identity | undefined {
  return explained(state, () => read(fileOf(state)));
}

/**
 * The authority of the user; made when it is first wanted, once only if several processes want it at once. Rejects with
 * `CaiError('CONFIG')` if it cannot be read or made.
 */
export async function authorityOf(state: string): Promise<Identity> {
  const found = findAuthority(state);
  if (found !== undefined) return found;
  const file = fileOf(state);
  const { dir, base } = posix.parse(file);
  const late = () =>
    new CaiError('CONFIG', `another command is making the authority for keys, ${file}: try again`);
  return await new ProcessLocks(dir).hold(base, { pollMs: 10, limitMs, late }, async () => {
    const made = findAuthority(state) ?? (await makeAuthority());
    explained(state, () => replaceFile(file, `${JSON.stringify(made)}\n`));
    return made;
  });
}

/** Tells it from others. */
export function authorityId({ cert }: Identity): string {
  return new X509Certificate(cert).fingerprint256;
}

/** An identity for one host, which those take for it who trust the authority. */
export async function identityFor(host: string, authority: Identity): Promise<Identity> {
  const forge = await library();
  const { publicKey, privateKey } = await (keyOfHosts ??= newKey());
  const cert = newCertificate(forge, publicKey, serverDays);
  const issuer = forge.pki.certificateFromPem(authority.cert);
  cert.setSubject([{ name: 'commonName', value: host.slice(0, 64) }]);
  cert.setIssuer(name);
  cert.setExtensions([
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true },
    { name: 'subjectAltName', altNames: [{ type: 2, value: host }] },
    { name: 'authorityKeyIdentifier', keyIdentifier: issuer.generateSubjectKeyIdentifier().getBytes() },
  ]);
  return { cert: signed(forge, cert, authority.key), key: privateKey };
}

function fileOf(state: string): string {
  return posix.join(state, 'credentials/authority.json');
}

function explained<T>(state: string, use: () => T): T {
  try {
    return use();
  } catch (reason) {
    const what = `the authority for keys, ${fileOf(state)}, cannot be used: ${messageOf(reason)}`;
    throw new CaiError('CONFIG', `${what}: remove it to get a new one, or ${stateRemedy(state)}`);
  }
}

/** `undefined`: there is no authority, or it is valid for a short time only. */
function read(path: string): Identity | undefined {
  const text = unlessGone(() => readFileSync(path, 'utf8'));
  if (text === undefined) return undefined;
  const { cert, key } = JSON.parse(text) as Identity;
  createPrivateKey(key);
  const endsAt = Date.parse(new X509Certificate(cert).validTo);
  return endsAt - Date.now() > renewMs ? { cert, key } : undefined;
}

async function makeAuthority(): Promise<Identity> {
  const forge = await library();
  const { publicKey, privateKey } = await newKey();
  const cert = newCertificate(forge, publicKey, authorityDays);
  cert.setSubject(name);
  cert.setIssuer(name);
  cert.setExtensions([
    { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  return { cert: signed(forge, cert, privateKey), key: privateKey };
}

/** Loaded when it is wanted: most commands make no certificate. */
const library = () => import('node-forge');
type Library = Awaited<ReturnType<typeof library>>;

/** As PEM. */
type KeyPair = Awaited<ReturnType<typeof newKey>>;

/** Node makes keys in a tenth of the library's time, and beside the connections that it serves. */
async function newKey() {
  return await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
}

/** A certificate that is not signed yet. */
function newCertificate({ pki }: Library, publicKey: string, days: number): pki.Certificate {
  const cert = pki.createCertificate();
  cert.publicKey = pki.publicKeyFromPem(publicKey);
  // Positive: the first bit is that of the sign.
  cert.serialNumber = `01${randomBytes(15).toString('hex')}`;
  // Clocks in virtual machines may be late.
  cert.validity.notBefore = new Date(Date.now() - dayMs);
  cert.validity.notAfter = new Date(Date.now() + days * dayMs);
  return cert;
}

/** A certificate on its way through `sign`, which makes the part that is signed. The types of the library lack it. */
type Draft = pki.Certificate & { readonly tbsCertificate: asn1.Asn1 };

/** The certificate as PEM; `by`: the private key of whoever signs. */
function signed({ pki, md, asn1 }: Library, cert: pki.Certificate, by: string): string {
  // Node signs in a hundredth of the library's time.
  const signature = () => {
    const { tbsCertificate } = cert as Draft;
    return sign('sha256', Buffer.from(asn1.toDer(tbsCertificate).getBytes(), 'latin1'), by).toString(
      'latin1',
    );
  };
  cert.sign({ sign: signature } as unknown as pki.rsa.PrivateKey, md.sha256.create());
  return pki.certificateToPem(cert);
}
