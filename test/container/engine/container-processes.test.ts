import { countSupervisors, type ContainerProcess } from '../../../src/container/engine/container-processes';

const keeper = '/usr/bin/perl /run/cai/keeper';
const supervisor = '/usr/bin/perl /run/cai/supervisor';

/** A container whose first process has the id 100, with these: id, parent and command line. */
function processes(...others: readonly (readonly [number, number, string])[]): ContainerProcess[] {
  const own = [[100, 99, keeper], [101, 100, keeper]] as const; // prettier-ignore
  return [...own, ...others].map(([pid, parent, command]) => ({ pid, parent, command }));
}

const session = [[200, 101, 'sshd: agent [priv]'], [201, 200, 'sshd: agent@notty']] as const; // prettier-ignore

describe('countSupervisors', () => {
  test('counts those of sessions, also where sshd has one process for each', () => {
    expect(countSupervisors(processes())).toBe(0);
    expect(countSupervisors(processes(...session, [202, 201, supervisor], [203, 202, 'sleep 9']))).toBe(1);
    expect(countSupervisors(processes([300, 101, 'sshd: agent@pts/0'], [301, 300, 'perl /run/cai/supervisor']))).toBe(1); // prettier-ignore
    const newer = [[400, 101, 'sshd-session: agent [priv]'], [401, 400, 'sshd-session: agent@notty'], [402, 401, supervisor]] as const; // prettier-ignore
    expect(countSupervisors(processes(...session, [202, 201, supervisor], ...newer))).toBe(2);
  });

  test('counts those for which the engine has started sshd', () => {
    const entered = [[400, 99, 'sshd: agent [priv]'], [401, 400, 'sshd: agent@notty'], [402, 401, supervisor]] as const; // prettier-ignore
    expect(countSupervisors(processes(...entered))).toBe(1);
    // Where ids are those of the container, it has no parent.
    expect(countSupervisors(processes([400, 0, '/usr/sbin/sshd -i'], [402, 400, supervisor]))).toBe(1);
  });

  test('counts no login shell that is yet to become one', () => {
    expect(countSupervisors(processes(...session, [202, 201, 'sh -c exec /run/cai/supervisor']))).toBe(0);
  });

  test('counts nothing that calls itself so', () => {
    const own = [...session, [202, 201, supervisor]] as const;
    const names = [
      [[203, 202, supervisor]],
      [[203, 202, 'sshd: agent@notty'], [204, 203, supervisor]],
      [[203, 202, keeper], [204, 203, 'sshd: agent@notty'], [205, 204, supervisor]],
      [[203, 202, keeper], [204, 203, keeper], [205, 204, supervisor]],
      // Who had a supervisor that has ended is the keeper's child, or has entered from outside.
      [[203, 100, supervisor]],
      [[203, 1, supervisor]],
    ] as const; // prettier-ignore

    for (const more of names) expect(countSupervisors(processes(...own, ...more))).toBe(1);
  });
});
