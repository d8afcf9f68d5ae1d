/**
 * Stands for sshd's process of a connection, for `watch.test.ts`: nothing else is its child than what the test starts.
 * Hears `{ id, argv, input }` to start a program, `{ id, signal }` to signal it; says `{ id, text }` for what it prints,
 * `{ id, isEnded }` when it has ended.
 */
import { spawn } from 'node:child_process';

const programs = new Map();

process.on('message', ({ id, argv, input, signal }) => {
  if (signal !== undefined) return programs.get(id).kill(signal);
  const program = spawn(argv[0], argv.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
  programs.set(id, program);
  program.stdin.on('error', () => undefined).write(Buffer.from(input, 'base64'));
  program.stdout.setEncoding('utf8').on('data', (text) => process.send({ id, text }));
  program.on('close', () => process.send({ id, isEnded: true }));
});
process.on('disconnect', () => process.exit());
