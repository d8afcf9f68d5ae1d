/** QR codes for a terminal. */
import { renderUnicodeCompact } from 'uqr';

/** White on black whatever colours the terminal has, as cameras expect a light border. */
const colours = '\u001b[97;40m';
const usual = '\u001b[0m';

/** The code for a text, with a line end. */
export function qrCode(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split('\n');
  return lines.map((line) => `${colours}${line}${usual}\n`).join('');
}
