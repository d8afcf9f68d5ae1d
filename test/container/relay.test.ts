import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, Readable, Writable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { CaiError } from '../../src/errors';
import { relay } from '../../src/container/relay';

/** A command of which the test is the inside, and streams of which it is the outside. */
function given() {
  const command = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const own = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const { promise: exited, ...exit } = Promise.withResolvers<{ status: number }>();
  const ignore = () => undefined;
  const status = relay({ ...command, exited, signal: ignore, resize: ignore }, own);
  return { command, own, exit, status };
}
