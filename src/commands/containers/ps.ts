/** `cai ps`: the containers of this user. */
import { ownContainers } from '../../container/user-containers';
import type { OwnContainer } from '../../container/user-containers';
import type { Engine } from '../../container/engine/engine';
import { countCommands } from '../../container/reuse';
import { CaiError } from '../../errors';
import { ageOf } from '../support/age';
import { commandLine, runCommandLine } from '../support/command-line';
import { connectEngine, hostUser } from './selection';
import { table } from '../support/table';

interface Options {
  readonly all?: true;
  readonly json?: true;
  readonly context?: string;
}

/** Writes the list to stdout, and to stderr a hint if it is empty; resolves with 0. */
export async function run(args: readonly string[]): Promise<number> {
  const command = commandLine('ps', 'Lists your containers that run, by workspace and agent.')
    .option('--all', 'the others, too')
    .option('--json', 'as JSON; times in milliseconds')
    .option('--context <name>', 'Docker context');
  return await runCommandLine(command, args, () => list(command.opts<Options>()));
}

async function list({ all, json, context }: Options): Promise<number> {
  const engine = await connectEngine(process.env, context);
  const containers = await ownContainers(engine, hostUser().uid);
  const shown = containers.filter(({ state }) => all === true || isAlive(state));
  const commands = await Promise.all(shown.map((container) => commandsIn(engine, container)));
  const now = Date.now();
  const text = json === true ? asJson(shown, commands, now) : asTable(shown, commands, now);
  process.stdout.write(text);
  if (shown.length === 0) process.stderr.write(`cai: ${hint(containers.length)}\n`);
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
  return await countCommands(engine, id).catch((reason: unknown) => {
    if (reason instanceof CaiError && reason.code !== 'NO_ENGINE') return 0;
    throw reason;
  });
}

function asTable(containers: readonly OwnContainer[], commands: readonly number[], now: number): string {
  const rows = containers.map(({ name, agent, workspace, state, createdAt }, index) => {
    return [name, agent, workspace ?? '-', state, ageOf(now - createdAt), String(commands[index])];
  });
  return table([['NAME', 'AGENT', 'WORKSPACE', 'STATE', 'AGE', 'COMMANDS'], ...rows]);
}

function asJson(containers: readonly OwnContainer[], commands: readonly number[], now: number): string {
  const objects = containers.map(({ id, name, agent, workspace, state, createdAt }, index) => ({
    name,
    id,
    agent,
    workspace: workspace ?? null,
    state,
    createdAt: new Date(createdAt).toISOString(),
    ageMs: Math.max(now - createdAt, 0),
    commands: commands[index],
  }));
  return `${JSON.stringify(objects, undefined, 2)}\n`;
}
