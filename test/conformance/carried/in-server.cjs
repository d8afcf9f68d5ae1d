/*
 * Loaded into `cai serve` by `carry.mjs`. The suite's proxies work in a workspace and end when they are killed: the
 * processes of the server are started where it was, instead of in the home folder, and nothing outlives the carrier.
 */
const childProcess = require('node:child_process');
const process = require('node:process');

const { spawn } = childProcess;
const started = [];
childProcess.spawn = (program, args, options) => {
  const child = spawn(program, args, { ...options, cwd: process.cwd() });
  started.push(child);
  return child;
};
process.stdin
  .on('end', () => {
    for (const child of started) child.kill('SIGKILL');
    process.kill(process.pid, 'SIGKILL');
  })
  .resume();
