/** `cai ps`: the containers of this user. */
import type { Host } from '../../system/host';
import { ownContainers, type OwnContainer } from '../../container/user-containers';
import type { Engine } from '../../container/engine/engine';
import { CaiError } from '../../errors';
import { common, declare } from '../support/command';
import { ageOf, table, tell, writeJson } from '../support/terminal';
import { connectEngine } from './selection';

interface Options {
  readonly all?: true;
  readonly json?: true;
  readonly context?: string;
}

/** Writes the list to stdout, and to stderr a hint if it is empty; resolves with 0. */
export const run = declare<Options>({
  name: 'ps',
  description: 'Lists your containers that run, by workspace and agent.',
  options: [
    ['-a, --all', 'also those that do not run'],
    ['--json', 'as JSON; times in milliseconds'],
    common.context,
  ],
  action: list,
});

async function list({ all, json, context }: Options, host: Host): Promise<number> {
  const engine = await connectEngine(host, context);
  const containers = await ownContainers(engine, host.user.uid);
  const shown = containers.filter(({ state }) => all === true || isAlive(state));
  const commands = await Promise.all(shown.map((container) => commandsIn(engine, container)));
  const now = Date.now();
  if (json === true) writeJson(shown.map((each, index) => objectOf(each, commands[index]!, now)));
  else process.stdout.write(asTable(shown, commands, now));
  if (shown.length === 0) tell(hint(containers.length));
  return 0;
}

function isAlive(state: string): boolean {
  return ['running', 'paused', 'restarting'].includes(state);
}

function hint(hidden: number): string {
  if (hidden === 0) return 'no containers: "cai exec" makes one for the workspace that you are in';
  return `no container runs: "cai ps --all" lists the ${hidden} that ${hidden === 1 ? 'is' : 'are'} there`;
}

/** How many commands of ours run in it. It may end meanwhile. */
async function commandsIn(engine: Engine, { id, state }: OwnContainer): Promise<number> {
  if (state !== 'running' && state !== 'paused') return 0;
  return await engine.countCommands(id).catch((reason: unknown) => {
    if (reason instanceof CaiError && reason.code !== 'NO_ENGINE') return 0;
    throw reason;
  });
}

function asTable(containers: readonly OwnContainer[], commands: readonly number[], now: number): string {
  const rows = containers.map(({ name, agent, workspace, state, createdAt }, index) => {
    return [name, agent, workspace ?? '-', state, ageOf(now - createdAt), String(commands[index])];
  });
  const head = ['NAME', 'AGENT', 'WORKSPACE', 'STATE', 'AGE', 'COMMANDS'];
  return table([head, ...rows], ['WORKSPACE']);
}

function objectOf(
  { id, name, agent, workspace, state, createdAt }: OwnContainer,
  commands: number,
  now: number,
) {
  const ageMs = Math.max(now - createdAt, 0);
  const at = new Date(createdAt).toISOString();
  return { name, id, agent, workspace: workspace ?? null, state, createdAt: at, ageMs, commands };
}
