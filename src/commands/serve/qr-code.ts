/** QR codes for a terminal. */
import { renderUnicodeCompact } from 'uqr';
import { isLoopback, servePort } from '../../config/serve-places';

/** White on black whatever colours the terminal has, as cameras expect a light border. */
const colours = '\u001b[97;40m';
const usual = '\u001b[0m';

/** The code for a link, or, for one that only this machine can open, what a phone needs instead; with a line end. */
export function codeFor(link: string): string {
  if (!isLoopback(new URL(link).hostname)) return qrCode(link);
  return `cai: for a phone, set "tls_cert" and "tls_key" in [serve], and listen at 0.0.0.0:${servePort}\n`;
}

/** The code for a text, with a line end. */
export function qrCode(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split('\n');
  return lines.map((line) => `${colours}${line}${usual}\n`).join('');
}
