/** How files of a page, and answers to it, are sent. */
import { readFileSync } from 'node:fs';
import { packageFile } from '../../../system/files/package-file';
import type { Request } from '../door/request-rules';
import type { Response } from '../http/event-stream';

/** A file below `dist/page`, and its type. */
type PageFile = readonly [name: string, type: string];

export type PageFiles = Readonly<Record<string, PageFile>>;

/** The host is one that the door has let pass. Browsers before Safari 15.4 do not take `'self'` for WebSockets. */
function securityHeaders({ headers }: Request): Readonly<Record<string, string>> {
  const host = (headers[':authority'] as string | undefined) ?? headers.host ?? '';
  // Browsers know no such form for an address of IPv6.
  const sockets = host.startsWith('[') ? '' : ` ws://${host} wss://${host}`;
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src 'self'${sockets}`,
    'img-src data:',
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return {
    'content-security-policy': policy.join('; '),
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  };
}

/** Answers with a file, which only this server can frame, script and style. */
export function sendFile(request: Request, response: Response, [name, type]: PageFile): void {
  const body = readFileSync(packageFile(`dist/page/${name}`));
  const headers = { ...securityHeaders(request), 'content-type': `${type}; charset=utf-8` };
  response.writeHead(200, { ...headers, 'content-length': body.length });
  response.end(request.method === 'HEAD' ? '' : body);
}

export function sendJson(response: Response, value: object, cookie?: string): void {
  if (cookie !== undefined) response.setHeader('set-cookie', cookie);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}
