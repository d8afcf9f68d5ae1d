import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ownIdentity } from '../../../src/system/process-identity';
import type { SessionRecord } from '../../../src/acp/sessions/session-record';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

let user: ReturnType<typeof userWith>;

beforeEach(() => (user = userWith('')));

describe('cai sessions', () => {
  test('lists what was used or is open, by whichever agent, the last used first', async () => {
    remember(
      record('past', { updatedAt: ago(3 * 3_600_000), title: 'Mend it' }),
      record('open', { updatedAt: ago(5_000), openBy: ownIdentity(), agent: 'gemini' }),
      record('made', { openBy: ownIdentity(), at: ago(60_000) }),
      record('killed', { updatedAt: ago(2 * 86_400_000), openBy: `${process.pid}.1` }),
      record('never used', {}),
    );

    const { status, stdout, stderr } = await runHere(['sessions'], user);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout.replaceAll(/ {2,}/g, '  ').split('\n')).toEqual([
      'TITLE  AGENT  WORKSPACE  STATE  LAST USED  ID',
      expect.stringMatching(/^- {2}gemini {2}\/w {2}open {2}\d+s ago {2}open$/),
      '-  claude  /w  open  1m ago  made',
      'Mend it  claude  /w  -  3h ago  past',
      '-  claude  /w  -  2d ago  killed',
      '',
    ]);
  });

  test('has nothing in its output that steers a terminal, and no title that fills the screen', async () => {
    remember(record('a', { updatedAt: ago(0), title: `\u001b[31mred\n\u009b2J\u202e ${'x'.repeat(100)}` }));

    const { stdout } = await runHere(['sessions'], user);
    const { stdout: json } = await runHere(['sessions', '--json'], user);

    for (const text of [stdout, json]) expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/); // eslint-disable-line no-control-regex -- those are meant
    expect(stdout).toContain('x…  claude');
    expect((JSON.parse(json) as { title: string }[])[0]!.title).toContain('\u009b2J\u202e xxx');
  });

  test('prints one JSON array', async () => {
    const updatedAt = ago(5_000);
    remember(
      record('a', { updatedAt, title: 'A', cwd: '/w/src' }),
      record('b', { updatedAt: ago(9_000_000) }),
    );

    const { stdout } = await runHere(['sessions', '--json'], user);

    expect(JSON.parse(stdout)).toEqual([
      {
        id: 'a',
        title: 'A',
        agent: 'claude',
        workspace: '/w',
        cwd: '/w/src',
        isLive: false,
        lastUsedAt: updatedAt,
        ageMs: expect.any(Number) as number,
      },
      expect.objectContaining({ id: 'b', title: null }),
    ]);
  });

  test('can be narrowed to an agent and to a workspace, also one that is gone', async () => {
    const cwd = realpathSync(user.cwd!);
    const root = join(cwd, 'project');
    mkdirSync(join(root, '.containai'), { recursive: true });
    mkdirSync(join(root, 'sub'));
    writeFileSync(join(root, '.containai/config.toml'), '');
    const used = { updatedAt: ago(0) };
    remember(
      record('a', { ...used, root }),
      record('b', used),
      record('c', { ...used, root, agent: 'codex' }),
    );
    const ids = async (...args: string[]): Promise<unknown> => {
      const { stdout } = await runHere(['sessions', '--json', ...args], { ...user, cwd });
      return (JSON.parse(stdout) as { id: string }[]).map(({ id }) => id).sort();
    };

    expect(await ids('--agent', 'codex')).toEqual(['c']);
    expect(await ids('--workspace', 'project/sub')).toEqual(['a', 'c']);
    expect(await ids('--workspace', 'project', '--agent', 'claude')).toEqual(['a']);
    rmSync(root, { recursive: true });
    expect(await ids('--workspace', 'project')).toEqual(['a', 'c']);
  });

  test.each([
    ['there are none', '', [], /^cai: no sessions: one is remembered once an editor has used it/],
    ['none are kept', '[sessions]\npersist = false\n', [], /^cai: no sessions: .*persist = false/],
    ['there are only others', '', [record('a', { updatedAt: ago(0) })], /^cai: no session matches/],
  ])('says why there is nothing where %s', async (_, config, records, hint) => {
    user = userWith(config);
    remember(...records);

    const { status, stdout, stderr } = await runHere(['sessions', '--json', '--agent', 'copilot'], user);

    expect({ status, stdout }).toEqual({ status: 0, stdout: '[]\n' });
    expect(stderr).toMatch(hint);
  });

  test('does without lines that are damaged, and fails for a file that cannot be read', async () => {
    remember(record('a', { updatedAt: ago(0) }), 'garbage');
    expect((await runHere(['sessions'], user)).stdout).toContain('/w');
    rmSync(file());
    mkdirSync(file());

    const { status, stderr } = await runHere(['sessions'], user);

    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^cai: .*sessions\.ndjson cannot be read: illegal operation on a directory: make .*\n$/,
    );
  });
});

function file(): string {
  return join(user.env!.HOME!, '.local/state/containai/sessions.ndjson');
}

function remember(...records: readonly (SessionRecord | string)[]): void {
  mkdirSync(join(file(), '..'), { recursive: true });
  writeFileSync(file(), records.map((each) => `${JSON.stringify(each)}\n`).join(''));
}

function record(id: string, more: Partial<SessionRecord>): SessionRecord {
  return { id, agent: 'claude', agentId: id, root: '/w', cwd: '/w', at: ago(0), ...more };
}

function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}
