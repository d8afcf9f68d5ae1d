/** Signatures by the keys of SSH servers. Source: RFC 4253, 6.6; RFC 5656; RFC 8332; RFC 8709. */
import { createHash, createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { WireReader } from './wire';

/** Curve, its name in JWK, hash, and bytes of a coordinate. */
const curves: Readonly<Record<string, readonly [crv: string, hash: string, bytes: number]>> = {
  nistp256: ['P-256', 'sha256', 32],
  nistp384: ['P-384', 'sha384', 48],
  nistp521: ['P-521', 'sha512', 66],
};

/** SHA-1 counts for nothing. */
const rsaHashes: Readonly<Record<string, string>> = { 'rsa-sha2-256': 'sha256', 'rsa-sha2-512': 'sha512' };

/**
 * Whether the key, as SSH sends it, has signed that. False as well for bytes that are no key, a certificate, and one of a
 * kind that no server has, such as one on a security key.
 */
export function isSignedBy(hostKey: Buffer, data: Buffer, signature: Buffer): boolean {
  try {
    const key = new WireReader(hostKey);
    const type = key.text();
    const signed = new WireReader(signature);
    const algorithm = signed.text();
    const value = signed.string();
    signed.end();
    if (type === 'ssh-ed25519' && algorithm === type)
      return verify(null, data, jwk(key, { kty: 'OKP', crv: 'Ed25519', x: base64(key.string()) }), value);
    if (type === 'ssh-rsa' && Object.hasOwn(rsaHashes, algorithm)) {
      const e = base64(key.mpint());
      return verify(rsaHashes[algorithm], data, jwk(key, { kty: 'RSA', e, n: base64(key.mpint()) }), value);
    }
    if (type.startsWith('ecdsa-sha2-') && algorithm === type) return isSignedOnCurve(key, data, value);
    return false;
  } catch {
    // Whatever cannot be read is not a signature of that key.
    return false;
  }
}

/** Of a public key in the form in which SSH sends it, as `ssh-keygen -l` prints it. */
export function fingerprint(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replaceAll('=', '')}`;
}

function isSignedOnCurve(key: WireReader, data: Buffer, value: Buffer): boolean {
  const [crv, hash, bytes] = curves[key.text()]!;
  const point = key.string();
  // Only points that are written out are used.
  if (point[0] !== 4 || point.length !== 1 + 2 * bytes) return false;
  const [x, y] = [point.subarray(1, 1 + bytes), point.subarray(1 + bytes)];
  const publicKey = jwk(key, { kty: 'EC', crv, x: base64(x), y: base64(y) });
  const numbers = new WireReader(value);
  const parts = [numbers.mpint(), numbers.mpint()].map((part) =>
    Buffer.concat([Buffer.alloc(bytes - part.length), part]),
  );
  numbers.end();
  return verify(hash, data, { key: publicKey, dsaEncoding: 'ieee-p1363' }, Buffer.concat(parts));
}

function jwk(read: WireReader, key: JsonWebKey) {
  read.end();
  return createPublicKey({ key, format: 'jwk' });
}

const base64 = (bytes: Buffer): string => bytes.toString('base64url');
