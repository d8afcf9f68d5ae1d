import { readFileSync, readdirSync, statSync } from 'node:fs';
import { givenProfile, profileFor, profileName, seccompProfile } from '../../../src/container/engine/seccomp';
import { newFolder } from '../../support/temp-folder';

interface Argument {
  readonly index: number;
  readonly op: string;
  readonly value: number;
  readonly valueTwo?: number;
}

interface Rule {
  readonly names: readonly string[];
  readonly action: string;
  readonly errnoRet?: number;
  readonly args?: readonly Argument[];
  readonly includes?: { readonly caps: readonly string[] };
}

const profile = JSON.parse(seccompProfile()) as {
  readonly defaultAction: string;
  readonly defaultErrnoRet: number;
  readonly archMap: readonly unknown[];
  readonly syscalls: readonly Rule[];
};

/** What a system call gets, as libseccomp reads rules: those of one name are alternatives, their arguments are not. */
function verdict(name: string, args: readonly bigint[] = [], capabilities: readonly string[] = []): string {
  const fitting = profile.syscalls.filter(
    (rule) =>
      rule.names.includes(name) &&
      (rule.includes?.caps ?? []).every((each) => capabilities.includes(each)) &&
      (rule.args ?? []).every((each) => fits(each, args[each.index] ?? 0n)),
  );
  const actions = fitting.map(({ action, errnoRet }) => (action === 'SCMP_ACT_ALLOW' ? 'allow' : errnoRet));
  expect(new Set(actions).size).toBeLessThan(2);
  return String(actions[0] ?? profile.defaultErrnoRet);
}

function fits({ op, value, valueTwo }: Argument, given: bigint): boolean {
  if (op === 'SCMP_CMP_MASKED_EQ') return (given & BigInt(value)) === BigInt(valueTwo!);
  if (op === 'SCMP_CMP_NE') return given !== BigInt(value);
  if (op === 'SCMP_CMP_LE') return given <= BigInt(value);
  if (op === 'SCMP_CMP_GT') return given > BigInt(value);
  expect(op).toBe('SCMP_CMP_EQ');
  return given === BigInt(value);
}

const [EPERM, EINVAL, ENOSYS] = ['1', '22', '38'];
const creating = [0o100n, 0o100n | 0o1n, 0o20200000n];
/** Bits that the kernel does not look at. */
const high = 1n << 32n;

describe('the profile of system calls', () => {
  test.each<[string, (mode: bigint) => bigint[][]]>([
    ['chmod', (mode) => [[0n, mode]]],
    ['fchmod', (mode) => [[0n, mode]]],
    ['creat', (mode) => [[0n, mode]]],
    ['mknod', (mode) => [[0n, mode | 0o100000n]]],
    ['fchmodat', (mode) => [[0n, 0n, mode]]],
    ['fchmodat2', (mode) => [[0n, 0n, mode]]],
    ['mknodat', (mode) => [[0n, 0n, mode | 0o100000n]]],
    ['open', (mode) => creating.map((flags) => [0n, flags, mode])],
    ['openat', (mode) => creating.map((flags) => [0n, 0n, flags, mode])],
  ])('has no setuid and setgid bits in %s', (name, argsOf) => {
    for (const mode of [0o755n, 0o1777n, 0n, high | 0o644n])
      for (const args of argsOf(mode)) expect([args, verdict(name, args)]).toEqual([args, 'allow']);
    for (const mode of [0o4755n, 0o2755n, 0o6755n, high | 0o4711n])
      for (const args of argsOf(mode))
        expect([args, verdict(name, args)]).toEqual([args, expect.stringMatching(/^(?:1|38)$/)]);
  });

  test('asks for no mode where no file is made', () => {
    expect(verdict('open', [0n, 0o2n, 0o6777n])).toBe('allow');
    expect(verdict('openat', [0n, 0n, 0o200000n, 0o6777n])).toBe('allow');
  });

  test.each(['openat2', 'clone3'])('has no %s, whose arguments lie in memory, and says so', (name) => {
    expect(verdict(name)).toBe(ENOSYS);
  });

  test.each([1n, 2n, 10n, 16n])('lets a program make sockets of family %s', (family) => {
    expect([verdict('socket', [family]), verdict('socketpair', [family])]).toEqual(['allow', 'allow']);
  });

  test('lets a program use the protocols of AF_NETLINK that tell of its own network, and no other', () => {
    const protocols = [...Array(32).keys()].map(BigInt);
    const allowed = protocols.filter((each) => verdict('socket', [16n, 3n, each]) === 'allow');
    expect(allowed).toEqual([0n, 4n, 9n, 16n]);
    expect(verdict('socket', [16n, 3n, 15n | high])).toBe(ENOSYS);
  });

  test.each([38n, 40n, 40n | high, 17n, 44n])('lets no program make sockets of family %s', (family) => {
    expect(verdict('socket', [family])).toBe(ENOSYS);
  });

  test('makes no namespace, and a process and a thread', () => {
    expect(verdict('clone', [17n])).toBe('allow');
    expect(verdict('clone', [0x3d0f00n])).toBe('allow');
    for (const flag of [0x20000n, 0x2000000n, 0x4000000n, 0x8000000n, 0x10000000n, 0x20000000n, 0x40000000n])
      expect([flag, verdict('clone', [flag | 17n])]).toEqual([flag, ENOSYS]);
  });

  test('gives no lease, no note and no delegation, and leaves the rest of fcntl', () => {
    // F_SETLEASE, F_NOTIFY and F_SETDELEG.
    for (const command of [1_024n, 1_026n, 1_040n])
      for (const each of [command, high | command])
        expect([each, verdict('fcntl', [3n, each])]).toEqual([each, EINVAL]);
    const others = [...Array(39).keys(), 1_025, ...Array.from({ length: 13 }, (_, i) => 1_027 + i)];
    for (const command of others)
      expect([command, verdict('fcntl', [3n, BigInt(command)])]).toEqual([command, 'allow']);
  });

  test('makes no pipe larger than the usual one', () => {
    const sizes = [1n, 65_536n, 65_537n, 1n << 20n];
    expect(sizes.map((size) => verdict('fcntl', [3n, 1_031n, size]))).toEqual([
      'allow',
      'allow',
      EPERM,
      EPERM,
    ]);
  });

  test.each(['sched_setaffinity', 'sched_setattr', 'sched_setparam', 'sched_setscheduler'])(
    'lets %s change the caller alone',
    (name) => expect([0n, 1n, 7n].map((pid) => verdict(name, [pid]))).toEqual(['allow', EPERM, EPERM]),
  );

  test.each([
    ['setpriority', 0n],
    ['ioprio_set', 1n],
  ])('lets %s change the caller alone, and no group or user', (name, own) => {
    const calls = [
      [own, 0n],
      [own, 1n],
      [2n, 0n],
      [3n, 0n],
      [2n, 7n],
    ];
    expect(calls.map((args) => verdict(name, args))).toEqual(['allow', EPERM, EPERM, EPERM, EPERM]);
  });

  test('has no io_setup, and says so', () => expect(verdict('io_setup')).toBe(ENOSYS));

  test("sets no other process's limits, and reads them", () => {
    expect(verdict('prlimit64', [0n, 0n, 0x1000n])).toBe('allow');
    expect(verdict('prlimit64', [7n, 0n, 0n])).toBe('allow');
    expect(verdict('prlimit64', [1n, 0n, 0x1000n])).toBe(ENOSYS);
    expect(verdict('prlimit64', [high | 1n, 0n, 0x1000n])).toBe(ENOSYS);
  });

  test('gives space of a file back, and takes none at once: as on file systems that cannot', () => {
    expect(verdict('fallocate', [3n, 3n])).toBe('allow');
    expect([verdict('fallocate', [3n, 0n]), verdict('fallocate', [3n, 1n])]).toEqual(['95', '95']);
  });

  test.each(
    'add_key keyctl request_key io_uring_setup io_uring_enter io_uring_register mount umount2 unshare setns bpf perf_event_open userfaultfd open_by_handle_at init_module kexec_load pivot_root pidfd_getfd'.split(
      ' ',
    ),
  )('refuses %s', (name) => expect(verdict(name)).toBe(EPERM));

  test('knows 64-bit programs alone: the calls of others have other numbers and arguments', () => {
    expect(profile.archMap).toEqual([
      { architecture: 'SCMP_ARCH_X86_64', subArchitectures: [] },
      { architecture: 'SCMP_ARCH_AARCH64', subArchitectures: [] },
    ]);
    expect(verdict('socketcall')).toBe(ENOSYS);
  });

  test('says of a call that it does not know that there is none, so that programs do without', () => {
    expect([profile.defaultAction, verdict('one_of_tomorrow')]).toEqual(['SCMP_ACT_ERRNO', ENOSYS]);
  });

  test('lets sshd change its root where the engine has no root of the host', () => {
    expect([verdict('chroot'), verdict('chroot', [], ['CAP_SYS_CHROOT'])]).toEqual([ENOSYS, 'allow']);
  });

  test('decides each call in one way: no name stands in a rule without arguments and in another', () => {
    const bare = profile.syscalls.filter(({ args }) => args === undefined).flatMap(({ names }) => names);
    const bound = profile.syscalls.filter(({ args }) => args !== undefined).flatMap(({ names }) => names);

    expect(new Set(bare).size).toBe(bare.length);
    expect(bare.filter((name) => bound.includes(name))).toEqual([]);
  });

  test.each(['execve', 'ptrace', 'landlock_restrict_self', 'seccomp', 'inotify_init1', 'memfd_create', 'statx', 'rseq', 'futex', 'copy_file_range', 'prctl'])('lets a program use %s', (name) => { expect(verdict(name)).toBe('allow'); }); // prettier-ignore
});

const docker = { isPodman: false, hasSeccomp: true, sharesKernel: true };

describe('profileFor', () => {
  test('gives Docker the profile itself, wherever it runs', () => {
    expect(profileFor({ ...docker, sharesKernel: false }, '/state')).toEqual({ seccomp: seccompProfile() });
    expect(givenProfile(profileName(seccompProfile()))).toBe(seccompProfile());
  });

  test('gives podman on this machine a file with it, which only the user can read', () => {
    const state = newFolder();
    const { seccomp: path, lacking } = profileFor({ ...docker, isPodman: true }, state);
    expect(profileName(path)).toBe(path);
    expect(lacking).toBeUndefined();
    expect(readdirSync(state)).toEqual([]);

    for (let times = 0; times < 2; times++) expect(givenProfile(path)).toBe(path);
    expect(readFileSync(path, 'utf8')).toBe(seccompProfile());
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(state)).toHaveLength(1);
  });

  test.each([
    ['podman on another machine', { ...docker, isPodman: true, sharesKernel: false }, 'podman on another'],
    ['an engine without seccomp', { ...docker, hasSeccomp: false }, 'the engine has no seccomp'],
  ])('leaves %s its own, and says so', (_name, engine, sentence) => {
    const lacking = expect.stringContaining(sentence) as string;
    expect(profileFor(engine, '/state')).toEqual({ seccomp: 'default', lacking });
    expect(givenProfile('default')).toBe('default');
  });
});
