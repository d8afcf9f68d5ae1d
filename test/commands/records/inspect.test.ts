import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { cai, userWith, type CliOptions } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { RecordedLines, recordingFile } from '../../support/recordings';
import { newFolder } from '../../support/temp-folder';

const started: ChildProcess[] = [];

afterEach(async () => {
  for (const each of started.splice(0)) {
    if (each.exitCode !== null || each.signalCode !== null) continue;
    const gone = once(each, 'close');
    each.kill('SIGKILL');
    await gone;
  }
});

function start(args: readonly string[], { cwd, env }: CliOptions = {}): ChildProcess {
  const child = spawn(process.execPath, [cai, ...args], { cwd, env: { PATH: process.env.PATH, ...env } });
  started.push(child);
  return child;
}

/** The first line that it prints. */
async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return line;
}

/** What the page asks, by the link. */
async function pageOf(link: string) {
  const { origin, hash } = new URL(link);
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const own = { 'content-type': 'application/json', origin, ...headers };
    return await fetch(origin + path, { method: 'POST', body: JSON.stringify(body), headers: own });
  };
  const answer = await post('/page/sign-in', { ticket: hash.replace('#ticket=', '') });
  const { key } = (await answer.json()) as { key: string };
  const headers = { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, 'cai-page-key': key };
  return async (path: string, body: object) =>
    (await (await post(path, body, headers)).json()) as Record<string, unknown>;
}

test('shows a recording until Ctrl+C', async () => {
  const lines = new RecordedLines();
  lines.session(1, 'bread', '/srv/bakery', 1, 0);
  const file = recordingFile(lines.lines);
  const server = start(['inspect', file]);
  const gone = once(server, 'close');
  const link = await firstLine(server);

  const ask = await pageOf(link);

  expect(await ask('/inspect/open', {})).toMatchObject({
    reader: 1,
    about: { name: file, agent: 'claude', isLive: false },
  });
  const { rows } = await ask('/inspect/rows', { reader: 1 });
  expect(rows).toHaveLength(lines.lines.length);
  server.kill('SIGINT');
  expect(await gone).toEqual([0, null]);
  await expect(fetch(link)).rejects.toThrow('fetch failed');
});

describe('--live', () => {
  const mock = JSON.stringify([join(__dirname, '../../../fixtures/mock-acp-server'), '--acp']);
  const hello = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';
  /** A connection of the user that is recorded, once it has answered. */
  const connect = async (user: CliOptions, file: string): Promise<ChildProcess> => {
    const child = start(['--acp', '--record', file, 'mock'], user);
    child.stdin!.write(hello);
    await firstLine(child);
    return child;
  };

  test('finds the connection that runs, and shows what is added', async () => {
    const user = userWith(`[agents.mock]\ncommand = ${mock}\n`);
    const file = join(newFolder(), 'r.ndjson');
    expect((await runHere(['inspect', '--live'], user)).stderr).toBe(
      `cai: no connection is being recorded, and one that began without --record keeps nothing to show: put "--record", "/path/of/FILE" behind "--acp" in your editor's settings and start the agent there anew, or name a file\n`,
    );
    const connection = await connect(user, file);

    const ask = await pageOf(await firstLine(start(['inspect', '--live'], user)));

    const opened = await ask('/inspect/open', {});
    expect(opened).toMatchObject({ about: { name: file, isLive: true } });
    const methods: unknown[] = [];
    const readUntil = async (method: string): Promise<void> => {
      while (!methods.includes(method)) {
        const { rows } = await ask('/inspect/rows', { reader: 1 });
        methods.push(...(rows as { method?: string }[]).map((row) => row.method));
      }
    };
    await readUntil('initialize');
    connection.stdin!.write('{"jsonrpc":"2.0","method":"_oven/heat"}\n');
    await readUntil('_oven/heat');
  });

  test('wants a name where several are recorded', async () => {
    const user = userWith(`[agents.mock]\ncommand = ${mock}\n`);
    const file = join(newFolder(), 'r.ndjson');
    await connect(user, file);
    await connect(user, file);

    const { status, stderr } = await runHere(['inspect', '--live'], user);

    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^cai: several connections are being recorded, so name one of the files: \S*\/r\.ndjson, \S*\/r-2\.ndjson\n$/,
    );
  });
});

test.each([
  [[], 2, 'name a recording, or say --live for that of the connection that runs'],
  [['/no/such'], 1, '/no/such cannot be read: no such file or directory'],
  [
    [join(__dirname, 'inspect.test.ts')],
    1,
    `${join(__dirname, 'inspect.test.ts')} is no recording that this version of cai can read: make one by "cai --acp --record FILE AGENT"`,
  ],
])('refuses %j', async (args, status, message) => {
  const result = await runHere(['inspect', ...args]);

  expect(result).toEqual({ status, stdout: '', stderr: `cai: ${message}\n` });
});
