/**
 * The commands that need the user's configuration or a container engine. They are bundled together, apart
 * from `cai --acp`, and each is loaded only when it is run.
 */
import { brokenPipeStatus } from '../container/ssh/relay';
import { CaiError } from '../errors';
import type { Host } from '../system/host';
import { nearest } from '../config/nearest';
import { ownValue } from '../config/own-property';

/** A command: its arguments are those behind its name; resolves with the exit status. */
interface Command {
  run(args: readonly string[], host: Host): Promise<number>;
}

/** By their names. `help.ts` has a line for each. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  build: () => import('./containers/build'),
  exec: () => import('./run/exec'),
  shell: () => import('./run/shell'),
  forward: () => import('./run/forward'),
  login: () => import('./run/login'),
  logout: () => import('./run/logout'),
  ps: () => import('./containers/ps'),
  sessions: () => import('./records/sessions'),
  stop: () => import('./containers/stop'),
  rm: () => import('./containers/rm'),
  logs: () => import('./records/logs'),
  usage: () => import('./records/usage'),
  replay: () => import('./records/replay'),
  doctor: () => import('./doctor/doctor'),
  config: () => import('./workspace/config'),
  trust: () => import('./workspace/trust'),
  review: () => import('./workspace/review'),
};

/** The commands that editors and we ourselves start. */
const internalCommands: Readonly<Record<string, () => Promise<Command>>> = {
  bridge: () => import('./run/bridge'),
  terminal: () => import('./run/terminal'),
};

/**
 * Runs the command of that name; ends the process when nobody reads what it prints. Rejects with
 * `CaiError('USAGE')` if there is none.
 */
export async function run(name: string, args: readonly string[], host: Host): Promise<number> {
  const load = ownValue(internalCommands, name) ?? ownValue(commands, name);
  if (load === undefined) {
    const meant = nearest(name, Object.keys(commands));
    const hint = meant === undefined ? '' : `, did you mean "${meant}"?`;
    throw new CaiError('USAGE', `"${name}" is not a command${hint}: see "cai --help"`);
  }
  process.stdout.on('error', () => process.exit(brokenPipeStatus));
  return await (await load()).run(args, host);
}
