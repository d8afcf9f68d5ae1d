import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isGroupAlive, signalGroup } from '../../src/system/process-group';

describe('a process group', () => {
  test('is alive as long as one of its processes runs, whoever led it', async () => {
    const shell = spawn('sh', ['-c', 'sleep 60 & echo $!; exec 1>&-'], { detached: true });
    const hasEnded = once(shell, 'exit');
    const [pid] = (await once(shell.stdout, 'data')) as [Buffer];
    await hasEnded;
    expect(Number(pid.toString())).toBeGreaterThan(0);

    expect(isGroupAlive(shell.pid!)).toBe(true);
    expect(signalGroup(shell.pid!, 'SIGKILL')).toBe(true);

    while (isGroupAlive(shell.pid!)) await new Promise((resolve) => setImmediate(resolve));
  });

  test('without a process cannot be signalled', async () => {
    const program = spawn('true', { detached: true });
    await once(program, 'exit');

    expect(isGroupAlive(program.pid!)).toBe(false);
    expect(signalGroup(program.pid!, 'SIGTERM')).toBe(false);
  });

  test('of a zombie alone is not alive', async () => {
    // The child is dead, and its parent, which has replaced itself, never takes note.
    const parent = spawn('sh', ['-c', 'setsid sh -c "echo \\$\\$" & exec sleep 60']);
    const [pid] = (await once(parent.stdout, 'data')) as [Buffer];
    const leader = Number(pid.toString());

    while (isGroupAlive(leader)) await new Promise((resolve) => setImmediate(resolve));

    expect(signalGroup(leader, 0)).toBe(true);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
  });
});
