/** `cai setup` on a terminal, from an engine to a first turn, as somebody goes through it who has nothing yet. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalog } from '../../src/agent/catalog';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import type { Running } from './running';
import { signInWays } from './sign-in-ways';
import { SignInWorld } from './sign-in-world';
import { Cai, docker, newWorkspace, ownFile } from './support';

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? test : test.skip;

/** A user who has Zed. */
function newcomer(config: string) {
  const cai = new Cai(config);
  const zed = join(cai.env.XDG_CONFIG_HOME!, 'zed/settings.json');
  ownFile(zed, '// mine\n{\n  "theme": "x", // nice\n}\n');
  return { cai, zed };
}

async function answer(guide: Running, question: string, text = 'y\n', limitMs?: number): Promise<void> {
  await guide.says(question, limitMs);
  guide.child.stdin.write(text);
}

/** Has a turn in `cai try`, which is about to begin, and leaves it. */
async function haveTurn(guide: Running, prompt: string, reply: string): Promise<void> {
  // What is shown for an empty line.
  const empty = '> \u001b[3G';
  await showsInOrder(guide, 'at the prompt, it leaves.', empty);
  guide.child.stdin.write(`${prompt}\n`);
  await showsInOrder(guide, 'at the prompt, it leaves.', empty, reply, empty);
  guide.child.stdin.write('\u0004');
  await guide.succeeds();
}

async function showsInOrder(guide: Running, ...texts: readonly string[]): Promise<void> {
  const areShown = (): boolean => {
    let at = 0;
    return texts.every((text) => (at = guide.stdout.indexOf(text, at) + 1) > 0);
  };
  while (!areShown()) {
    const ended = await Promise.race([once(guide.child.stdout, 'data').then(() => undefined), guide.ended]);
    if (ended !== undefined && !areShown()) throw new Error(guide.stdout.toString());
  }
}

/** Whether an editor from the desktop, which knows nothing of the terminal, can start what stands in its settings. */
async function startsFrom(cai: Cai, zed: string): Promise<void> {
  const text = readFileSync(zed, 'utf8');
  expect(text).toMatch(/^\/\/ mine\n\{\n {2}"theme": "x", \/\/ nice\n {2}"agent_servers": \{\n/);
  const settings = JSON.parse(text.replaceAll(/\/\/ .*/g, '').replaceAll(/,(?=\s*\})/g, '')) as {
    readonly agent_servers: Record<string, { command: string; args: string[]; env: NodeJS.ProcessEnv }>;
  };
  const [{ command, args, env }] = Object.values(settings.agent_servers) as [
    { command: string; args: string[]; env: NodeJS.ProcessEnv },
  ];
  const editor = cai.startProgram(command, args, { env: { ...env, PATH: '/usr/bin:/bin' } });
  const params = { protocolVersion: 1, clientCapabilities: {} };
  editor.child.stdin.end(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
  await editor.says('"protocolVersion":1');
  await editor.succeeds();
}

asRoot(
  `leads through sign-in and editor to a turn${isRoot ? '' : ' (needs root, to listen on port 443)'}`,
  async () => {
    const world = new SignInWorld('127.0.0.4');
    await world.open();
    try {
      const hosts = JSON.stringify(world.extraHosts);
      const { cai, zed } = newcomer(`[container]\nextra_hosts = ${hosts}\n`);
      await provideImages('claude');
      const guide = cai.startInTerminal(['setup'], { cwd: newWorkspace() });

      await answer(guide, 'Sign in to claude now? [y/N] ');
      await signInWays.find(({ agent }) => agent === 'claude')!.signIn(guide, world);
      await answer(guide, `the settings of Zed, ${zed}? [y/N] `);
      await answer(guide, 'Have a first turn with claude here? [y/N] ');
      await haveTurn(guide, 'hello', 'said by the model');

      await startsFrom(cai, zed);
    } finally {
      world.close();
    }
  },
  buildTimeoutMs,
);

test(
  'builds the image of an agent that has none',
  async () => {
    const agent = `guided-${process.pid}`;
    const packages = JSON.stringify(catalog.claude!.packages);
    const command = '["node", "mock-acp-server", "--acp"]';
    const { cai, zed } = newcomer(
      `[agents.${agent}]\ncommand = ${command}\npackages = ${packages}\n[agent]\ndefault = "${agent}"\n`,
    );
    const workspace = newWorkspace();
    ownFile(join(workspace, 'mock-acp-server'), readFileSync('fixtures/mock-acp-server', 'utf8'));
    try {
      const guide = cai.startInTerminal(['setup'], { cwd: workspace });

      await answer(guide, `Build the image of ${agent} now? It takes minutes. [y/N] `);
      await answer(guide, `the settings of Zed, ${zed}? [y/N] `, 'y\n', buildTimeoutMs);
      await answer(guide, `Have a first turn with ${agent} here? [y/N] `);
      await haveTurn(guide, 'hello', 'echo: hello');

      await startsFrom(cai, zed);
    } finally {
      await cai.run(['rm', '--all', '--agent', agent, '--volumes', '--force']);
      await docker('rmi', `containai:${agent}`);
    }
  },
  buildTimeoutMs,
);
