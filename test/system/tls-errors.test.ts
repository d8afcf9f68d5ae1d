import { isCertificateError, isTlsError } from '../../src/system/tls-errors';

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', true, true],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', true, true],
  ['ERR_TLS_CERT_ALTNAME_INVALID', true, true],
  ['CERT_HAS_EXPIRED', true, true],
  ['EPROTO', false, true],
  ['ERR_SSL_WRONG_VERSION_NUMBER', false, true],
  ['ECONNRESET', false, false],
  ['', false, false],
])('%j is about a certificate: %s, about TLS: %s', (code, isCertificate, isTls) => {
  expect([isCertificateError(code), isTlsError(code)]).toEqual([isCertificate, isTls]);
});
