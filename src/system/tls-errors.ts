/** Which codes of errors are about TLS. Source: Node, error codes of TLS and of OpenSSL. */

/** Whether the certificate of the other end was not accepted. */
export function isCertificateError(code: string): boolean {
  return /^(?:CERT_|ERR_TLS_CERT|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
}

/** Whether the two ends could not agree on TLS, be it for a certificate or otherwise. */
export function isTlsError(code: string): boolean {
  return isCertificateError(code) || /^(?:EPROTO|ERR_(?:TLS|SSL|OSSL)_)/.test(code);
}
