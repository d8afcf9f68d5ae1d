import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isRunning, ownIdentity } from '../../src/system/process-identity';

describe('a process', () => {
  it('runs, as far as it is this one', () => {
    expect(ownIdentity()).toMatch(new RegExp(`^${process.pid}\\.\\d+$`));
    expect(isRunning(ownIdentity())).toBe(true);
  });

  it('is not another one that has got its id', () => expect(isRunning(`${process.pid}.1`)).toBe(false));

  it('does not run when it has ended', async () => {
    const child = spawn('sleep', ['60']);
    const other = `${child.pid}.0`;
    child.kill();
    await once(child, 'exit');

    expect(isRunning(other)).toBe(false);
  });

  it.each(['', '1', 'a.b', '1.2.3', '-1.5'])('is not named by %j', (text) => {
    expect(isRunning(text)).toBeUndefined();
  });
});
