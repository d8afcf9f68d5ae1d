/** Attacks by system calls: rights that a process could take, or give a file. */
import { copyFileSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildTimeoutMs, Place } from '../engine/place';
import { ownFile } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { asOther } from './other-user';

const program = readFileSync(resolve(__dirname, '../../fixtures/attacks/system-calls.pl'), 'utf8');

let place: Place;
let outcomes: ReadonlyMap<string, string>;

beforeAll(async () => {
  place = await new Place().opened();
  const lines = await place.prints(['perl', '-e', program]);
  outcomes = new Map(lines.split('\n').map((line) => line.split('\t') as [string, string]));
}, buildTimeoutMs);

/** What came of a call; rejects if it was not made. */
function outcomeOf(call: string): string {
  const outcome = outcomes.get(call);
  if (outcome === undefined) throw new Error(`${call} was not tried`);
  return outcome;
}

/** Whether the file that a call has made is one that runs as somebody else. */
function madeBy(call: string): string | undefined {
  const outcome = outcomeOf(call);
  const mode = statSync(join(place.workspace, call), { throwIfNoEntry: false })?.mode ?? 0;
  return reachedIf(
    outcome === 'done' || (mode & 0o6000) !== 0,
    `${call}: ${outcome}, mode ${mode.toString(8)}`,
  );
}

describe('a setuid or setgid bit on a file of the user', () => {
  const ways = 'chmod chmod-setgid chmod-high fchmod fchmodat fchmodat2 open openat openat-setgid openat-tmpfile openat2 creat mknod mknodat'; // prettier-ignore
  // eslint-disable-next-line @typescript-eslint/require-await
  attempt('an agent sets the bit by any call that gives a file its mode', async () => {
    const reached = ways.split(' ').flatMap((way) => madeBy(way) ?? []);
    return reachedIf(reached.length > 0, reached.join('\n'));
  });

  // eslint-disable-next-line @typescript-eslint/require-await
  attempt('an agent sets the bit by chmod of 32-bit programs', async () => madeBy('chmod-32bit'));

  attempt(
    'another user of the machine reads a file of the user by a setuid program that an agent has left',
    async () => {
      const secret = join(place.workspace, 'secret');
      ownFile(secret, 'SECRET OF THE USER\n');
      await place.prints(['sh', '-c', 'chmod 600 secret; cp "$(command -v cat)" reader; chmod 755 .']);
      await place.run(['sh', '-c', 'chmod 4755 reader || chmod u+s reader']);
      const mode = statSync(join(place.workspace, 'reader')).mode;
      // The host's own program is the same to the other user, and shows that the way to the file is open.
      copyFileSync('/bin/ls', join(place.workspace, 'lists'));
      const { status } = await asOther(`${place.workspace}/lists ${place.workspace}`);
      if (status !== 0) throw new Error(`the other user cannot reach ${place.workspace}: ${status}`);
      const { stdout } = await asOther(`${place.workspace}/reader ${secret}`);
      return reachedIf(
        stdout.includes('SECRET') || (mode & 0o6000) !== 0,
        `mode ${mode.toString(8)}: ${stdout}`,
      );
    },
  );
});

describe('the turn of the guarding programs on the processors', () => {
  const ways = 'sched_setscheduler sched_setparam sched_setattr sched_setaffinity setpriority setpriority-group setpriority-user ioprio_set ioprio_set-user'; // prettier-ignore
  // eslint-disable-next-line @typescript-eslint/require-await
  attempt('an agent puts the guarding programs behind all others', async () => {
    const reached = ways.split(' ').filter((way) => outcomeOf(way) === 'done');
    return reachedIf(reached.length > 0, reached.join(' '));
  });
});

describe('a part of the kernel that no agent needs', () => {
  /** An attempt of one call. */
  const byCall = (call: string) => async () => {
    const outcome = await Promise.resolve(outcomeOf(call));
    return reachedIf(outcome === 'done', `${call}: ${outcome}`);
  };

  attempt('an agent has the kernel do its calls past the filter, by io_uring', byCall('io_uring_setup'));
  attempt('an agent keeps others waiting who open a file, by a lease', byCall('lease'));
  attempt(
    'an agent keeps others waiting who open a file, by a lease and a number with more bits',
    byCall('lease-high'),
  );
  attempt('an agent is told what others do in a folder, by F_NOTIFY', byCall('notify'));
  attempt('an agent makes large pipes, of which few are all that the user may have', byCall('pipe-large'));
  attempt('an agent takes what io_setup makes, of which all users have so many', byCall('io_setup'));
  attempt('an agent speaks with the hypervisor, by AF_VSOCK', byCall('socket-vsock'));
  attempt(
    'an agent speaks with the hypervisor, by AF_VSOCK and a number with more bits',
    byCall('socket-vsock-high'),
  );
  // eslint-disable-next-line @typescript-eslint/require-await
  attempt("an agent is told of the host's devices, or uses parts of its kernel, by AF_NETLINK", async () => {
    if (outcomeOf('netlink-0') !== 'done') throw new Error('no protocol of AF_NETLINK can be used');
    // NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_AUDIT and NETLINK_GENERIC.
    const needed = [0, 4, 9, 16];
    const refused = [...Array(32).keys()].filter((each) => !needed.includes(each));
    const reached = [...refused, '15-high'].filter((each) => outcomeOf(`netlink-${each}`) === 'done');
    return reachedIf(reached.length > 0, `protocols ${reached.join(', ')}`);
  });
  attempt("an agent uses the kernel's ciphers, by AF_ALG", byCall('socket-alg'));
  attempt('an agent adds a key to those of the user', byCall('add_key'));
  attempt('an agent asks for a key of the user', byCall('request_key'));
  attempt('an agent reads the key ring of the user', byCall('keyctl'));
  attempt('an agent makes a user namespace, by unshare', byCall('unshare'));
  attempt('an agent makes a user namespace, by clone', byCall('clone-user'));
  attempt('an agent mounts something, by mount', byCall('mount'));
  attempt('an agent mounts something, by open_tree', byCall('open_tree'));
  attempt('an agent mounts something, by fsopen', byCall('fsopen'));
  attempt('an agent loads a program into the kernel', byCall('bpf'));
  attempt('an agent stops the kernel at memory of its own', byCall('userfaultfd'));
  attempt('an agent measures what runs on the machine', byCall('perf_event_open'));
});
