/*
 * Loaded into every `cai` of a crowd by NODE_OPTIONS: notes each request of HTTP that the process begins, WebSockets
 * included, as a line in the file that CAI_BENCH_REQUESTS names. CommonJS, because `--require` loads nothing else.
 */
const { subscribe } = require('node:diagnostics_channel');
const { appendFileSync } = require('node:fs');
const { env } = require('node:process');

subscribe('http.client.request.start', ({ request: { method, path } }) =>
  appendFileSync(env.CAI_BENCH_REQUESTS, `${method} ${path}\n`),
);
