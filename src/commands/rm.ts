/** `cai rm`: removes containers, and their agents' data only when that is asked for. */
import type { Engine } from '../container/engine';
import { ownContainers, ownVolumes } from '../container/own-containers';
import type { OwnContainer } from '../container/own-containers';
import { commandLine, runCommandLine } from './command-line';
import { endContainers } from './end-containers';
import { hostUserId, select, withSelectionOptions } from './selection';
import type { SelectionOptions } from './selection';

interface Options extends SelectionOptions {
  readonly force?: true;
  readonly volumes?: true;
}

const description = `Removes the containers of a workspace. What their agents keep (sign-ins, settings, history) lies in
volumes, which stay. The workspace itself is not touched.`;

/** Resolves with 0 when they are gone, with 1 if the user does not want that after all. */
export async function run(args: readonly string[]): Promise<number> {
  const command = withSelectionOptions(commandLine('rm', description))
    .option('-f, --force', 'also if commands run in them, which ends those')
    .option(
      '--volumes',
      'remove what their agents keep, too, unless other containers use it; with --all also what no container uses',
    );
  return await runCommandLine(command, args, () => remove(command.opts<Options>()));
}

async function remove(options: Options): Promise<number> {
  const { engine, containers } = await select(options, process.env);
  const hasEnded = await endContainers(engine, containers, {
    isForced: options.force === true,
    done: 'removed',
    end: ({ id }) => engine.removeContainer(id, { force: true }),
  });
  if (!hasEnded) return 1;
  const names = new Set(containers.flatMap(({ dataVolume }) => dataVolume ?? []));
  if (options.volumes === true) await removeVolumes(engine, names, options);
  else for (const name of names) say(`what the agent keeps stays in the volume ${name}`);
  if (containers.length === 0 && options.volumes !== true) say('nothing to remove');
  return 0;
}

/** Only those that carry our label, whatever the record of a container says. */
async function removeVolumes(
  engine: Engine,
  named: ReadonlySet<string>,
  { all, agent }: Options,
): Promise<void> {
  const own = await ownVolumes(engine, hostUserId());
  const left = await ownContainers(engine, hostUserId());
  const wanted = own.filter(
    (volume) => named.has(volume.name) || (all === true && (agent === undefined || volume.agent === agent)),
  );
  for (const { name } of wanted) {
    const users = left.filter(({ dataVolume }) => dataVolume === name);
    if (users.length > 0) {
      say(`kept the volume ${name}: it serves ${namesOf(users)}, too`);
      continue;
    }
    await engine.removeVolume(name);
    say(`removed the volume ${name}, with what the agent kept`);
  }
}

function namesOf(containers: readonly OwnContainer[]): string {
  return containers.map(({ name }) => name).join(', ');
}

function say(sentence: string): void {
  process.stderr.write(`cai: ${sentence}\n`);
}
