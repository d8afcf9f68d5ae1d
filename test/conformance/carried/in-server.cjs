/*
 * Loaded into `cai serve` by `carry.mjs`. The suite's proxies work in a workspace, with an editor of the same machine,
 * and end when they are killed: the processes of the server are started where it was, instead of in the home folder;
 * they serve files, terminals and sign-ins, which the server does not without the user's word; nothing outlives the
 * carrier.
 */
const childProcess = require('node:child_process');
const process = require('node:process');

const { spawn } = childProcess;
const started = [];
childProcess.spawn = (program, args, options) => {
  const child = spawn(program, args, {
    ...options,
    cwd: process.cwd(),
    env: { ...options.env, CAI_SERVED: '' },
  });
  started.push(child);
  return child;
};
let isEnding = false;
process.stdin
  .on('data', () => {
    isEnding = true;
    process.kill(process.pid, 'SIGTERM');
  })
  .on('end', () => {
    if (isEnding) return;
    for (const child of started) child.kill('SIGKILL');
    process.kill(process.pid, 'SIGKILL');
  });
