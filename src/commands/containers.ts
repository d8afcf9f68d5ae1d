/**
 * The commands that need the user's configuration or a container engine. They are bundled together, apart
 * from `cai --acp`, and each is loaded only when it is run.
 */
import { brokenPipeStatus } from '../container/relay';
import { CaiError } from '../errors';
import { nearest } from '../workspace/nearest';
import { ownValue } from '../workspace/own-value';

/** A command: its arguments are those behind its name; resolves with the exit status. */
interface Command {
  run(args: readonly string[]): Promise<number>;
}

/** By their names. */
export const commands: Readonly<Record<string, () => Promise<Command>>> = {
  build: () => import('./build'),
  exec: () => import('./exec'),
  shell: () => import('./shell'),
  forward: () => import('./forward'),
  login: () => import('./login'),
  logout: () => import('./logout'),
  ps: () => import('./ps'),
  sessions: () => import('./sessions'),
  stop: () => import('./stop'),
  rm: () => import('./rm'),
  logs: () => import('./logs'),
  usage: () => import('./usage'),
  replay: () => import('./replay'),
  doctor: () => import('./doctor'),
  config: () => import('./config'),
  trust: () => import('./trust'),
  review: () => import('./review'),
};

/** Those that nobody is to run by hand. */
const internalCommands: Readonly<Record<string, () => Promise<Command>>> = {
  bridge: () => import('./bridge'),
  terminal: () => import('./terminal'),
};

/**
 * Runs the command of that name; ends the process when nobody reads what it prints. Rejects with
 * `CaiError('USAGE')` if there is none.
 */
export async function run(name: string, args: readonly string[]): Promise<number> {
  const load = ownValue(internalCommands, name) ?? ownValue(commands, name);
  if (load === undefined) {
    const meant = nearest(name, Object.keys(commands));
    const hint = meant === undefined ? '' : `, did you mean "${meant}"?`;
    throw new CaiError('USAGE', `"${name}" is not a command${hint}: see "cai --help"`);
  }
  process.stdout.on('error', () => process.exit(brokenPipeStatus));
  return await (await load()).run(args);
}
