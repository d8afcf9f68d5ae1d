import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isRunning, ownIdentity } from '../../src/system/process-identity';

describe('a process', () => {
  it('runs, as far as it is this one', () => {
    expect(ownIdentity()).toMatch(new RegExp(`^${process.pid}\\.\\d+(@[\\w-]+)?$`));
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

  it('is not known when its id counts elsewhere', () => {
    const elsewhere = ownIdentity().replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));

    expect(isRunning(elsewhere)).toBeUndefined();
  });

  it.each(['', '1', 'a.b', '1.2.3', '-1.5', '1.2@', '1.2@a/b'])('is not named by %j', (text) => {
    expect(isRunning(text)).toBeUndefined();
  });
});
