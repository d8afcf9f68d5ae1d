import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { commands } from '../src/commands/commands';
import { capabilities } from '../src/container/engine/engine-info';
import { userWith } from './support/cli';
import { unhurried } from './support/hastened';
import { newFolder } from './support/temp-folder';

const repository = resolve(__dirname, '..');
const read = (page: string): string => readFileSync(join(repository, page), 'utf8');
const pages = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => join('docs', name));

/** The anchors that a forge makes of the headings of a page. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The fenced blocks of a page in a language. */
function blocksOf(page: string, language: string): string[] {
  return [...read(page).matchAll(/^```(\w*)\n(.*?)^```$/gms)]
    .filter(([, name]) => name === language)
    .map(([, , text]) => text!);
}

describe.each([
  'README.md',
  'test/escape/ATTACKS.md',
  'bench/results/cluster.md',
  'bench/results/tables.md',
  ...pages,
])('%s', (page) => {
  test('links to files that exist', () => {
    const links = [...read(page).matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link!);
    const missing = links.filter(
      (link) => !/^https?:/.test(link) && !existsSync(join(repository, dirname(page), link)),
    );

    expect(missing).toEqual([]);
  });

  test('links to headings that exist', () => {
    const links = [...read(page).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)];
    const missing = links.filter(([, file, anchor]) => {
      const target = file === '' ? page : join(dirname(page), file!);
      return target.endsWith('.md') && !anchorsOf(target).includes(anchor!);
    });

    expect(missing.map(([link]) => link)).toEqual([]);
  });

  test('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...read(page).matchAll(/npm run (?:-s )?([\w:]+)/g)].map(([, name]) => name!);

    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});

const decisions = pages.filter((page) => page.startsWith(join('docs', 'decisions')));

test.each<[string, number]>([
  ['README.md', 900],
  ['docs/architecture.md', 1500],
  ['docs/benchmarks.md', 700],
  ...decisions.map((page): [string, number] => [page, 150]),
])('%s has at most %d words', (page, most) => {
  expect(read(page).trim().split(/\s+/).length).toBeLessThanOrEqual(most);
});

test('docs/editors.md has snippets for editors that are JSON', () => {
  const snippets = blocksOf('docs/editors.md', 'json').map((block) =>
    Object.keys(JSON.parse(block) as object),
  );

  expect(snippets.flat()).toEqual(['agent_servers', 'agent_servers', 'acp.agents', 'agent_servers']);
});

test('docs/engines.md says of everything that an engine may be unable to do what follows', () => {
  const rows = [...read('docs/engines.md').matchAll(/^\| ([a-z][^|]*?) *\| \S[^|]* \| \S[^|]* \|$/gm)];

  expect(rows.map(([, what]) => what)).toEqual(Object.values(capabilities));
});

test('docs/commands.md has a row for every command', () => {
  const named = [...read('docs/commands.md').matchAll(/`cai ([a-z]+)/g)].map(([, name]) => name);

  expect(Object.keys(commands).filter((name) => !named.includes(name))).toEqual([]);
});

describe('docs/CONTRIBUTING.md', () => {
  test('names files that exist', () => {
    const named = [...read('docs/CONTRIBUTING.md').matchAll(/`((?:src|test|docs|fixtures|bench)\/[^` ]*)`/g)];

    expect(named.map(([, path]) => path!).filter((path) => !existsSync(join(repository, path)))).toEqual([]);
  });

  test('has a command to copy that plays an editor for the bundled agent', () => {
    const command = blocksOf('docs/CONTRIBUTING.md', 'sh').find((block) =>
      block.includes('CAI_ACP_TEST_MODE=1'),
    )!;
    const home = newFolder();

    const { stdout, status } = spawnSync('sh', ['-c', command], {
      cwd: repository,
      // A proxy waits 2 s for what is due when its input ends.
      env: { PATH: process.env.PATH, HOME: home, ...unhurried },
      encoding: 'utf8',
    });

    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: number; result: Record<string, unknown> });
    expect(status).toBe(0);
    expect(answers.map(({ id }) => id)).toEqual([1, 2]);
    expect(answers[0]!.result.protocolVersion).toBe(1);
    expect(answers[1]!.result.sessionId).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('docs/embedding.md', () => {
  const folder = newFolder();
  const mock = JSON.stringify([join(repository, 'fixtures/mock-acp-server'), '--acp']);
  const { env } = userWith(`[agents.claude]\ncommand = ${mock}\n`);
  const program = join(folder, 'program.mjs');
  const options = { cwd: folder, env: { PATH: process.env.PATH, ...env } };
  const [asClient, overBytes, overMessages] = blocksOf('docs/embedding.md', 'js') as [string, string, string];
  const opening = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } },
    { jsonrpc: '2.0', id: 2, method: 'session/new', params: { cwd: folder, mcpServers: [] } },
  ];

  beforeAll(() => {
    const modules = join(folder, 'node_modules');
    mkdirSync(join(modules, '@agentclientprotocol'), { recursive: true });
    symlinkSync(repository, join(modules, 'containai'));
    const sdk = '@agentclientprotocol/sdk';
    symlinkSync(join(repository, 'node_modules', sdk), join(modules, sdk));
  });

  test('has a program to copy that runs a turn', () => {
    writeFileSync(program, asClient);

    const { stdout, stderr, status } = spawnSync(process.execPath, [program], {
      ...options,
      encoding: 'utf8',
    });

    expect({ stdout, stderr, status }).toEqual({ stdout: 'echo: Hello\n', stderr: '', status: 0 });
  });

  test('has a program that serves its stdin and stdout', () => {
    writeFileSync(program, overBytes);

    const { stdout, stderr, status } = spawnSync(process.execPath, [program], {
      ...options,
      input: opening.map((message) => `${JSON.stringify(message)}\n`).join(''),
      encoding: 'utf8',
    });

    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    const answers = stdout.trimEnd().split('\n');
    expect(answers.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { id: 1, result: { protocolVersion: 1 } },
      { id: 2, result: { sessionId: expect.any(String) as string } },
    ]);
  });

  test('has a worker thread that serves its messages', async () => {
    writeFileSync(program, overMessages);
    const worker = new Worker(program, { env: options.env });
    const answers: unknown[] = [];
    worker.on('message', (message) => answers.push(message));
    for (const message of opening) {
      worker.postMessage(message);
      await once(worker, 'message');
    }
    await worker.terminate();

    expect(answers).toMatchObject([{ result: { protocolVersion: 1 } }, { result: {} }]);
  });
});
