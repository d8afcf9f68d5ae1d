/** `cai ps`: the containers of this user. */
import type { Host } from '../../system/host';
import { ownContainers } from '../../container/user-containers';
import { countCommands } from '../../container/engine/container-processes';
import type { Engine } from '../../container/engine/engine';
import type { DiskUse } from '../../container/engine/engine-info';
import { CaiError } from '../../errors';
import { common, declare } from '../support/command';
import { ageOf, bytesText, paintFor, table, tell, writeJson, type Paint } from '../support/terminal';
import { connectEngine } from './selection';

interface Options {
  readonly all?: true;
  readonly json?: true;
  readonly size?: true;
  readonly context?: string;
}

/** Writes the list to stdout, and to stderr a hint if it is empty; resolves with 0. */
export const run = declare<Options>({
  name: 'ps',
  description: 'Lists your running containers by workspace and agent.',
  options: [
    ['-a, --all', 'also list those that are not running'],
    ['-s, --size', 'with what each takes on the disk, besides its image and the workspace'],
    common.json,
    common.context,
  ],
  footer: `
JSON: an array of objects: name, id, agent, workspace (null: none), state, createdAt, ageMs, commands (how many of ours run;
null: that is not known), services, and with --size writtenBytes and dataBytes (null: not known).`,
  action: list,
});

async function list({ all, json, size, context }: Options, host: Host): Promise<number> {
  const engine = await connectEngine(host, context);
  const containers = await ownContainers(engine, host.user.uid);
  const shown = containers.filter(
    ({ state }) => all === true || ['running', 'paused', 'restarting'].includes(state),
  );
  const use = size === true ? await diskUseOf(engine) : undefined;
  const now = Date.now();
  const rows = await Promise.all(
    shown.map(async ({ id, name, agent, workspace = null, state, services, ...each }) => {
      const { createdAt: createdMs, dataVolume = '' } = each;
      const commands = await commandsIn(engine, id, state);
      const createdAt = new Date(createdMs).toISOString();
      const sizes = use && {
        writtenBytes: use.containers.get(id) ?? null,
        dataBytes: use.volumes.get(dataVolume) ?? null,
      };
      const ageMs = Math.max(now - createdMs, 0);
      return { name, id, agent, workspace, state, createdAt, ageMs, commands, services, ...sizes };
    }),
  );
  if (json === true) writeJson(rows);
  else {
    const head = ['NAME', 'AGENT', 'WORKSPACE', 'STATE', 'AGE', 'COMMANDS'];
    const hasServices = rows.some(({ services }) => services.length > 0);
    const lines = rows.map(({ name, agent, workspace, state, ageMs, commands, services, ...row }) => {
      const sizes = use === undefined ? [] : [bytesText(row.writtenBytes), bytesText(row.dataBytes)];
      const beside = hasServices ? [services.join(',') || '-'] : [];
      const own = [name, agent, workspace ?? '-', state, ageOf(ageMs), String(commands ?? '?')];
      return [...own, ...sizes, ...beside];
    });
    if (use !== undefined) head.push('WRITTEN', 'DATA');
    if (hasServices) head.push('SERVICES');
    const paint = paintFor(host);
    const painted = (cell: string, column: string): string =>
      column === 'STATE' ? paint(cell, colourOf(cell.trim())) : cell;
    process.stdout.write(table([head, ...lines], ['WORKSPACE'], undefined, painted));
  }
  if (shown.length === 0) tell(hint(containers.length));
  return 0;
}

/** What has ended as it should has none. */
function colourOf(state: string): Parameters<Paint>[1] {
  if (state === 'running') return 'good';
  return state === 'dead' ? 'bad' : ['paused', 'restarting', 'removing'].includes(state) ? 'warn' : undefined;
}

/** Rejects with `CaiError('USAGE')` for an engine that does not tell. */
async function diskUseOf(engine: Engine): Promise<DiskUse> {
  const use = await engine.diskUse?.();
  if (use === undefined) throw new CaiError('USAGE', 'Kubernetes does not tell sizes: leave out --size');
  return use;
}

function hint(hidden: number): string {
  if (hidden === 0) return 'no containers: "cai exec" makes one for the workspace that you are in';
  return `no container runs: "cai ps --all" lists the ${hidden} that ${hidden === 1 ? 'is' : 'are'} there`;
}

/** How many commands of ours run in it, which may end meanwhile; `null`: it does not tell, as its machine is gone. */
async function commandsIn(engine: Engine, id: string, state: string): Promise<number | null> {
  if (state !== 'running' && state !== 'paused') return 0;
  return await countCommands(engine, id).catch((reason: unknown) => {
    if (!(reason instanceof CaiError) || reason.code === 'NO_ENGINE') throw reason;
    return reason.code === 'CONTAINER_NOT_FOUND' ? 0 : null;
  });
}
