import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { ownIdentity } from '../../src/system/process-identity';
import {
  dropToken,
  hostCommand,
  sweepTokens,
  takeToken,
  writeToken,
  type TerminalOrder,
} from '../../src/agent/editor-token';
import { newFolder } from '../support/temp-folder';

const order: TerminalOrder = {
  kind: 'command',
  agent: 'claude',
  workspace: '/srv/a b',
  argv: ['sh', '-c', 'echo "$X"; rm -rf /'],
  env: [
    ['LD_PRELOAD', '/evil.so'],
    ['X', 'ä\n'],
  ],
  cwd: '/srv/a b/src',
};
const login: TerminalOrder = {
  kind: 'login',
  agent: 'claude',
  workspace: undefined,
  argv: ['login'],
  env: [],
};

let root: string;
/** What of the environment is written down. */
let host: Record<string, string>;
let env: NodeJS.ProcessEnv;
let folder: string;

beforeEach(() => {
  root = newFolder();
  env = { HOME: join(root, 'home'), XDG_RUNTIME_DIR: join(root, 'run'), XDG_STATE_HOME: join(root, 'state') };
  host = Object.fromEntries(Object.entries(env)) as Record<string, string>;
  mkdirSync(join(root, 'run'));
  folder = join(root, 'run/containai/terminals');
});

const fileOf = (token: string, kind = 'command'): string => join(folder, `${token}.${kind}`);

/** Makes a file end at a time before now. */
const age = (file: string): void => utimesSync(file, 1, 1);

describe('writeToken', () => {
  test('names a file that only the user can read, in a folder that only the user can enter', () => {
    const token = writeToken(new Host(env), order);

    expect(token).toMatch(/^[0-9a-f]{32}$/);
    expect(statSync(fileOf(token)).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['the folder is not there and cannot be made', () => (env.XDG_RUNTIME_DIR = '/dev/null')],
    [
      'somebody else could have made it',
      () => {
        mkdirSync(folder, { recursive: true });
        chmodSync(folder, 0o777);
      },
    ],
  ])('uses the state folder where %s', (_, change) => {
    change();

    const token = writeToken(new Host(env), order);

    expect(readdirSync(join(root, 'state/containai/terminals'))).toEqual([`${token}.command`]);
    expect(takeToken(new Host(env), token)).toMatchObject(order);
  });

  test('fails where no folder can be used', () => {
    const hostOfUser = new Host({ HOME: '/dev/null' });

    expect(() => writeToken(hostOfUser, order)).toThrow(expect.objectContaining({ code: 'CONFIG' }) as Error);
  });

  test('refuses what would fill the folder, and leaves nothing there', () => {
    const large = { ...order, argv: ['x'.repeat(1024 * 1024)] };

    expect(() => writeToken(new Host(env), large)).toThrow(
      expect.objectContaining({ code: 'INVALID_PARAMS' }) as Error,
    );
    expect(existsSync(folder)).toBe(false);
  });

  test('sweeps what is over, and nothing else', async () => {
    const ended = spawn('true');
    await once(ended, 'exit');
    const [old, fresh] = [writeToken(new Host(env), order), writeToken(new Host(env), order)];
    const [shown, orphan] = [writeToken(new Host(env), login), writeToken(new Host(env), login)];
    const text = readFileSync(fileOf(orphan, 'login'), 'utf8');
    writeFileSync(fileOf(orphan, 'login'), text.replace(ownIdentity(), `${ended.pid}.1`));
    const [reused, damaged] = [writeToken(new Host(env), login), writeToken(new Host(env), login)];
    // The same number, and another process.
    writeFileSync(fileOf(reused, 'login'), text.replace(ownIdentity(), `${process.pid}.1`));
    truncateSync(fileOf(damaged, 'login'), 20);
    writeFileSync(fileOf(old, 'taken'), '');
    writeFileSync(join(folder, 'notes'), '');
    for (const file of readdirSync(folder)) if (!file.startsWith(fresh)) age(join(folder, file));

    const latest = writeToken(new Host(env), order);

    expect(readdirSync(folder).sort()).toEqual(
      [`${fresh}.command`, `${latest}.command`, `${shown}.login`, 'notes'].sort(),
    );
  });
});

describe('takeToken', () => {
  test('gives the order as it was, once, with the variables that say where things are', () => {
    const token = writeToken(new Host({ ...env, ANTHROPIC_API_KEY: 'secret', PATH: '/bin' }), order);

    expect(takeToken(new Host(env), token)).toEqual({ ...order, host });

    expect(readdirSync(folder)).toEqual([]);
    expect(() => takeToken(new Host(env), token)).toThrow(
      /unknown, or it was used before.*ask the agent again/,
    );
  });

  test('finds a token of a process with another environment', () => {
    const token = writeToken(new Host({ ...env, XDG_RUNTIME_DIR: undefined }), order);

    expect(takeToken(new Host(env), token)).toMatchObject(order);
  });

  test.each(['', 'x', '../../../etc/passwd', '-'.repeat(32), 'A'.repeat(32), `${'a'.repeat(32)}\n`])(
    'looks for no file for %j',
    (token) => expect(() => takeToken(new Host(env), token)).toThrow(/this is no token/),
  );

  test('refuses a token of the right form that nobody wrote', () => {
    writeToken(new Host(env), order);

    expect(() => takeToken(new Host(env), 'a'.repeat(32))).toThrow(/unknown/);
  });

  test('refuses one that is too old, and removes it', () => {
    const token = writeToken(new Host(env), order);
    age(fileOf(token));

    expect(() => takeToken(new Host(env), token)).toThrow(/too old/);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('counts the time from the writing', () => {
    const before = Date.now();
    const { mtimeMs: until } = statSync(fileOf(writeToken(new Host(env), order)));

    expect(Math.round(until) - 10 * 60_000).toBeGreaterThanOrEqual(before);
    expect(Math.round(until) - 10 * 60_000).toBeLessThanOrEqual(Date.now());
  });

  test('lets a sign-in live as long as the process that shows it, and no longer', () => {
    const token = writeToken(new Host(env), login);
    age(fileOf(token, 'login'));

    expect(takeToken(new Host(env), token)).toEqual({ ...login, host });
  });

  test('refuses a sign-in whose process has ended, and whose number another has', () => {
    const owner = () => `${process.pid}.1`;
    const token = writeToken(new Host(env), login);
    const text = readFileSync(fileOf(token, 'login'), 'utf8');
    writeFileSync(fileOf(token, 'login'), text.replace(ownIdentity(), owner()));

    expect(() => takeToken(new Host(env), token)).toThrow(/too old/);
    sweepTokens(new Host(env));
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ['holds something else', (file: string) => writeFileSync(file, 'null'), /damaged/],
    ['can be read by others', (file: string) => chmodSync(file, 0o644), /not yours alone/],
    [
      'is a pipe',
      (file: string) => {
        rmSync(file);
        execFileSync('mkfifo', ['-m', '600', file]);
      },
      /not yours alone/,
    ],
  ])('refuses a file that %s', (_, change, reason) => {
    const token = writeToken(new Host(env), order);
    change(fileOf(token));

    expect(() => takeToken(new Host(env), token)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(reason) as string }) as Error,
    );
    expect(readdirSync(folder)).toEqual([]);
  });

  const asRoot = process.geteuid?.() === 0 ? test : test.skip;
  asRoot('refuses a file of another user', () => {
    const token = writeToken(new Host(env), order);
    execFileSync('chown', ['65534', fileOf(token)]);

    expect(() => takeToken(new Host(env), token)).toThrow(/not yours alone/);
  });
});

describe('dropToken', () => {
  test.each([order, login])('makes a token of kind $kind unknown', (given) => {
    const token = writeToken(new Host(env), given);

    dropToken(new Host(env), token);
    dropToken(new Host(env), token);

    expect(() => takeToken(new Host(env), token)).toThrow(/unknown/);
  });

  test('removes nothing for what is no token', () => {
    const token = writeToken(new Host(env), order);

    dropToken(new Host(env), `x/../${token}`);

    expect(takeToken(new Host(env), token)).toEqual({ ...order, host });
  });
});

describe('hostCommand', () => {
  test('is our own program and the token, in characters that no shell takes for anything', () => {
    const token = writeToken(new Host(env), order);

    expect(hostCommand(token)).toEqual({
      command: process.execPath,
      args: [join(__dirname, '../../bin/cai'), 'terminal', token],
    });
  });
});
