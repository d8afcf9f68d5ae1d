/** What all lists of commands have alike: their JSON is described, and their tables fit into a terminal. */
import { keepDecision } from '../../src/network/egress/decisions';
import { NetworkLog } from '../../src/network/egress/network-log';
import { recordBaseline } from '../../src/workspace/protect/baseline';
import { fakeEngine } from '../container/fake-engine';
import { runHere } from '../support/cli-here';
import { Repository } from '../workspace/worktrees/repository';

const at = new Date().toISOString();
const labels = { 'containai.managed': 'true', 'containai.user': String(process.getuid!()) };
const long = 'long'.repeat(15);
const counts = { turns: 1, durationMs: 1, tools: 1, failedTools: 0, timedTools: 1, toolMs: 1 };
const tokens = { input: 1, output: 1, cachedRead: 1, cachedWrite: 0, thought: 0, total: 2 };

const answers = {
  'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
  'GET /containers/json': {
    body: [{ Id: '1', Names: ['/cai-1'], Labels: labels, State: 'exited', Created: 1 }],
  },
  'GET /images/json': {
    body: [{ Id: 'sha256:a', RepoTags: ['containai:claude'], Labels: {}, Size: 1, Created: 1 }],
  },
  'GET /volumes': { body: { Volumes: [] } },
  'GET /system/df': { body: { Images: [] } },
};

/** Somebody of whom every list has something. */
let user: Repository;

/** What a command prints, on a terminal that is `columns` wide, if any. */
async function printed(args: readonly string[], columns?: number): Promise<string> {
  const { address } = await fakeEngine(answers);
  const env = { HOME: user.home, DOCKER_HOST: address.endpoint };
  return (await runHere(args, { env, cwd: user.root, ...(columns !== undefined && { columns }) })).stdout;
}

beforeAll(async () => {
  user = new Repository();
  const { root, home, host } = user;
  const { state } = host.folders;
  const put = (name: string, value: object): void => user.write(name, `${JSON.stringify(value)}\n`, state);
  const config = `[[serve.users]]\nname = "${long}"\nagents = "all"\nworkspaces = "all"\n`;
  user.write('.config/containai/config.toml', config, home);
  await printed(['serve', 'token', 'add', long]);
  const worktree = (await printed(['worktree', 'new', 'one'])).trim();
  const session = { id: 'i', agent: 'claude', agentId: 'a', root: worktree, cwd: root, at, updatedAt: at };
  put('sessions.ndjson', session);
  put(`usage/${at.slice(0, 7)}.ndjson`, {
    ...{ at, session: 's', agent: 'claude', root, stop: 'end_turn', models: [] },
    ...{ tokens, cost: { amount: 1, currency: 'USD' }, ...counts },
  });
  put('logs/20260101T000000.000Z-1.log', { level: 40, time: at, msg: 'x' });
  recordBaseline(state, root);
  user.write(`${long}.code-workspace`, 'x');
  keepDecision(state, root, 'allow', `${long}.example`);
  new NetworkLog(state, root, 'claude').note(`${long}.example:443`, 'refused', 'x');
});

/** All keys in a value, but those of costs, which are currencies. */
function keysIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [key, ...(key === 'cost' ? [] : keysIn(inner))]);
}

/** What help says of JSON, or of the JSON of that word. */
function shapeIn(help: string, word: string): string {
  const [, ...parts]: (string | undefined)[] = help.split(/\bJSON(?: of ([a-z ]+))?: /);
  const index = parts.findIndex((of, at) => at % 2 === 0 && (of ?? word).split(' ').includes(word));
  return parts[index + 1] ?? '';
}

test.each<[string, string[]]>([
  ['agents', []],
  ['config', []],
  ['doctor', []],
  ['images', []],
  ['logs', []],
  ['network', []],
  ['network', ['log']],
  ['ps', ['--all', '--size']],
  ['review', []],
  ['sessions', []],
  ['uninstall', ['--dry-run']],
  ['usage', []],
  ['worktree', []],
])('the help of cai %s has each key that %j prints, and names no other', async (command, args) => {
  const keys = keysIn(JSON.parse(await printed([command, ...args, '--json'])));
  const shape = shapeIn(await printed([command, '--help']), args[0] === 'log' ? 'log' : 'list');

  expect(keys.length).toBeGreaterThan(1);
  expect(keys.filter((key) => !new RegExp(`\\b${key}\\b`).test(shape))).toEqual([]);
  // Other words of it may be prose.
  expect(shape.match(/\b[a-z]+[A-Z]\w*/g)?.filter((word) => !keys.includes(word)) ?? []).toEqual([]);
});

test.each([
  [['config']],
  [['network']],
  [['network', 'log']],
  [['review']],
  [['serve', 'token']],
  [['uninstall', '--dry-run']],
])('the table of cai %j fits into the terminal', async (args) => {
  const rows = (await printed(args, 70)).split('\n').filter((line) => /\S {2,}\S/.test(line));
  expect(Math.max(...rows.map(({ length }) => length))).toBe(70);
});
