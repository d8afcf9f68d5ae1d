/**
 * Agents of the ACP registry in containers: each is installed as its entry says, answers, and is shown by its name.
 * What comes of it is the table in docs/agents.md; CAI_WRITE_TABLE=1 writes it, for `npm run format`. The agents
 * are those that npm has here, in versions that it has; those that `cai` knows itself are asked for by their ids in the
 * registry.
 */
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Json } from '../support/inbox';
import { isNightly } from '../support/nightly';
import { Editor } from './editor';
import { buildTimeoutMs } from './place';
import { Cai, newWorkspace, user } from './support';

const page = resolve(__dirname, '../../docs/agents.md');
const begin = '<!-- written by test/engine/registry-agents.test.ts -->\n';
const end = '<!-- end of the table -->';

/** As the registry has them, but for the versions. */
const listed = [
  agent('auggie', 'Auggie CLI', '@augmentcode/auggie', '0.36.0', ['--acp'], {
    AUGMENT_DISABLE_AUTO_UPDATE: '1',
  }),
  agent('pi-acp', 'pi ACP', 'pi-acp', '0.0.34'),
  agent('qoder', 'Qoder CLI', '@qoder-ai/qodercli', '1.1.52', ['--acp']),
];
const ours = ['claude-acp', 'codex-acp', 'gemini', 'github-copilot-cli', 'opencode', 'qwen-code'];
/** One of each kind, and nightly all. */
const ids = [...listed.map(({ id }) => id), ...ours].filter(
  (id) => isNightly || ['qoder', 'claude-acp'].includes(id),
);

function agent(
  id: string,
  name: string,
  npm: string,
  version: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  const npx = { package: `${npm}@${version}`, args, env };
  return { id, name, version, description: name, distribution: { npx } };
}

let cai: Cai;
beforeAll(() => {
  cai = new Cai();
  const folder = join(cai.home, 'state/containai');
  mkdirSync(folder, { recursive: true });
  const copy = { takenAt: '2100-01-01T00:00:00Z', document: { version: '1.0.0', agents: listed } };
  writeFileSync(join(folder, 'agents.json'), JSON.stringify(copy));
  for (const each of [join(cai.home, 'state'), folder, join(folder, 'agents.json')])
    chownSync(each, user.uid, user.gid);
});

const rows: string[][] = [];

test.each(ids)(
  'cai --acp %s answers initialize, and says what session/new needs',
  async (id) => {
    const about = JSON.parse((await cai.run(['agents', 'show', id, '--json'])).stdout.toString()) as {
      readonly name: string;
      readonly id: string;
      readonly installs: string;
      readonly source: string;
    };
    if (about.id === id && about.source === 'registry') await recorded(id);
    const editor = Editor.start(cai, id);

    const { result } = await editor.initialize();
    const opened = await editor.request('session/new', { cwd: newWorkspace(), mcpServers: [] });

    const { agentInfo, protocolVersion } = result as Json & { agentInfo?: { name: string; title?: string } };
    expect(protocolVersion).toBe(1);
    expect(agentInfo?.name).toEqual(expect.stringMatching(/./));
    const error = opened.error as { readonly code: number; readonly message: string } | undefined;
    const came = error === undefined ? 'a session' : toldOf(error);
    rows.push([
      about.id === id ? `\`${id}\`` : `\`${id}\`, here \`${about.id}\``,
      about.name,
      about.installs.replace(/ \(npm\)$/, ''),
      agentInfo!.title ?? agentInfo!.name,
      came,
    ]);
    await close(editor);
  },
  buildTimeoutMs,
);

/** Nothing is known of it before it has been asked, for which its image is built; an editor need not wait for that. */
async function recorded(id: string): Promise<void> {
  const first = Editor.start(cai, id, { env: { CAI_LOG_LEVEL: 'info' } });
  await Promise.all([first.initialize(), first.proxy.complains('is kept for next time', buildTimeoutMs)]);
  await close(first);
}

async function close(editor: Editor): Promise<void> {
  editor.proxy.child.stdin.end();
  await editor.proxy.ends();
}

/** What an agent that has nobody's account says; anything else is an agent that does not work. */
function toldOf({ code, message }: { readonly code: number; readonly message: string }): string {
  if (code === -32000) return 'asks to sign in';
  expect(message).toMatch(/executable not found \(command: pi\)/);
  return 'needs `pi` besides, which its package does not bring: an image of your own';
}

test('an image of an agent of the registry has its program on PATH, and nothing else of its package', async () => {
  const { stdout } = await cai.run([
    'exec',
    '--no-workspace',
    '--agent',
    'qoder',
    '--',
    'sh',
    '-c',
    'ls /usr/local/lib/cai/agent/bin; command -v qoder qodercli',
  ]);

  expect(stdout.toString().trim().split('\n')).toEqual(['qoder', '/usr/local/lib/cai/agent/bin/qoder']);
});

test('docs/agents.md has the table of what these tests have seen', () => {
  const head = [
    'registry',
    'name',
    'installed from npm',
    'says that it is',
    '`session/new` without an account',
  ];
  const text = readFileSync(page, 'utf8');
  const [before, rest = ''] = text.split(begin);
  const [now = '', after = ''] = rest.split(end);
  if (process.env.CAI_WRITE_TABLE === '1') {
    const lines = [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |\n`);
    writeFileSync(page, `${before}${begin}\n${lines.join('')}\n${end}${after}`);
    return;
  }
  // However wide its columns are.
  const cells = now
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const seen = new Set(rows.map(([id]) => id));
  expect([cells[0], ...cells.slice(2).filter(([id]) => seen.has(id))]).toEqual([head, ...rows]);
});
