/** Headers with which no request may come in, and the status of the refusal. PORT is the server's, TOKEN somebody's. */
type Refused = readonly [headers: string, status: number];

/** A token that is no token, or is somewhere else. */
export const tokens: readonly Refused[] = [
  ['Authorization: Bearer TOKENx', 401],
  ['Authorization: Bearer wrong', 401],
  ['Authorization: Bearer owner', 401],
  ['Authorization: Bearer', 400],
  ['Authorization: TOKEN', 400],
  ['Authorization: BearerTOKEN', 400],
  ['Authorization: Bearer TOKEN TOKEN', 400],
  ['Authorization: Bearer wrong, Bearer TOKEN', 400],
  ['Authorization: Basic TOKEN', 400],
  ['Authorization:', 400],
  ['Proxy-Authorization: Bearer TOKEN', 401],
  ['X-Authorization: Bearer TOKEN', 401],
  ['Cookie: cai=TOKEN', 401],
  ['Cookie: Authorization=Bearer TOKEN', 401],
  ['Sec-WebSocket-Protocol: bearer, TOKEN', 401],
  ['X-Forwarded-For: 127.0.0.1', 401],
];

/** The host of another server, or none that all would read alike. */
export const hosts: readonly Refused[] = [
  // DNS rebinding: a page of somebody else whose name leads here now.
  ['Host: evil.example:PORT', 421],
  ['Host: evil.example', 421],
  ['Host: localhost.evil.example:PORT', 421],
  ['Host: evil.localhost:PORT', 421],
  ['Host: 127.0.0.1.evil.example:PORT', 421],
  // Not the address by which it came.
  ['Host: 127.0.0.2:PORT', 421],
  ['Host: 10.0.0.1:PORT', 421],
  ['Host: [::1]:PORT', 421],
  ['Host: 0.0.0.0:PORT', 421],
  // Another port is another server.
  ['Host: localhost', 421],
  ['Host: localhost:80', 421],
  ['Host: localhost:1', 421],
  // Written so that it could be understood differently.
  ['Host: localhost.:PORT', 400],
  ['Host: user@localhost:PORT', 400],
  ['Host: evil.example@localhost:PORT', 400],
  ['Host: localhost:PORT@evil.example', 400],
  ['Host: localhost:PORT:PORT', 400],
  ['Host: localhost:PORT/', 400],
  ['Host: localhost:PORT, evil.example', 400],
  ['Host: http://localhost:PORT', 400],
  ['Host: localhost:', 400],
  ['Host: localhost:0', 400],
  ['Host: localhost:99999', 400],
  ['Host: localhost:+PORT', 400],
  ['Host: 127.1:PORT', 400],
  ['Host: 0x7f.0.0.1:PORT', 400],
  ['Host: 2130706433:PORT', 400],
  ['Host: *:PORT', 400],
  ['Host:', 400],
  ['Host: localhost:PORT\r\nHost: localhost:PORT', 400],
  ['Host: localhost:PORT\r\nhOST: evil.example', 400],
];

/** A page of somebody else, at the server `localhost:PORT`. */
export const pages: readonly Refused[] = [
  ['Origin: null', 403],
  ['Origin:', 403],
  ['Origin: https://localhost:PORT', 403],
  ['Origin: http://localhost', 403],
  ['Origin: http://127.0.0.1:PORT', 403],
  ['Origin: http://localhost:PORT.evil.example', 403],
  ['Origin: http://localhost:PORT/', 403],
  ['Origin: HTTP://localhost:PORT', 403],
  ['Origin: http://localhost:PORT http://evil.example', 403],
  ['Origin: https://editor.example.com.evil.example', 403],
  ['Origin: http://editor.example.com', 403],
  ['Origin: file://', 403],
  ['Origin: http://evil.example\r\nSec-Fetch-Site: same-origin', 403],
  ['Sec-Fetch-Site: cross-site', 403],
  ['Sec-Fetch-Site: same-site', 403],
  ['Sec-Fetch-Site: Same-Origin', 403],
  ['Sec-Fetch-Site: ', 403],
  ['Origin: http://localhost:PORT\r\nOrigin: http://localhost:PORT', 400],
  ['Origin: http://localhost:PORT\r\norigin: http://evil.example', 400],
  ['Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site', 400],
];
