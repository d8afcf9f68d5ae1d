/** `cai rm`: removes containers, and their agents' data only when that is asked for. */
import type { Host } from '../../system/host';
import type { Engine } from '../../container/engine/engine';
import { removeWithServices } from '../../container/services';
import { isOfOneWorkspace } from '../../container/spec/names';
import {
  ownContainers,
  ownVolumes,
  volumesUsed,
  type OwnContainer,
  type OwnVolume,
} from '../../container/user-containers';
import { quoted } from '../../system/quoted';
import { declare } from '../support/command';
import { confirm, tell } from '../support/terminal';
import { allDone, endContainers } from './end-containers';
import { select, selectionArguments, selectionOptions, type SelectionOptions } from './selection';

interface Options extends SelectionOptions {
  readonly force?: true;
  readonly volumes?: true;
  readonly yes?: true;
}

/** Resolves with 0 when nothing of it is there any more, with 1 if the user does not want that after all. */
export const run = declare<Options>({
  name: 'rm',
  description: `Removes the containers of a workspace, or those that you name. The agents' data (settings, history, some
sign-ins) is kept in volumes, and so are copies of workspaces in a cluster. The workspace itself is not touched.`,
  arguments: selectionArguments,
  options: [
    ...selectionOptions,
    ['-f, --force', 'even if commands run in them, which this ends; asks nothing'],
    [
      '--volumes',
      "also remove the agents' data, the copy of the workspace and the folders of container.own, unless other containers use them; with --all, also those that no container uses",
    ],
    ['-y, --yes', 'remove these without asking'],
  ],
  footer: `
Images are kept, too. To remove one: docker rmi containai:AGENT`,
  action: remove,
});

async function remove(options: Options, host: Host, names: readonly string[]): Promise<number> {
  const { engine, containers, none, root } = await select(names, options, host);
  const isForced = options.force === true;
  const volumes = await volumesToGo(engine, { containers, root }, options, host.user.uid);
  const going = volumes.filter(({ users }) => users.length === 0);
  if (going.length > 0 && !isForced && options.yes !== true && !(await mayRemove(going))) return 1;
  const end = (container: OwnContainer) => removeWithServices(engine, container);
  if (!(await endContainers(engine, containers, { isForced, done: 'removed', end }))) return 1;
  await allDone(
    going.map(async (volume) => {
      await engine.removeVolume(volume.name);
      tell(`removed the volume ${volume.name}, with ${contentOf(volume)}`);
    }),
  );
  for (const { name, users } of volumes) {
    if (users.length === 0) continue;
    tell(`kept the volume ${name}: it serves ${users.map((user) => user.name).join(', ')}, too`);
  }
  if (options.volumes !== true) {
    const kept = new Set(containers.flatMap(({ dataVolume }) => dataVolume ?? []));
    for (const name of kept) tell(`what the agent keeps stays in the volume ${name}`);
    const copies = new Set(containers.flatMap(({ copyVolume }) => copyVolume ?? []));
    for (const name of copies) tell(`the copy of the workspace stays in the volume ${name}`);
    const folders = new Set(containers.flatMap(({ folderVolumes }) => folderVolumes));
    for (const name of folders) tell(`a folder of the workspace stays in the volume ${name}`);
  }
  if (containers.length === 0 && volumes.length === 0) tell(`nothing to remove: ${whatIsNot(none, options)}`);
  return 0;
}

function contentOf({ kind, service = '' }: OwnVolume): string {
  if (kind === 'service') return `the data of the service ${service}`;
  if (kind === 'folder') return 'a folder of the workspace';
  return kind === 'copy' ? 'the copy of the workspace' : 'what the agent kept';
}

function whatIsNot(none: string, { volumes, all, agent }: Options): string {
  if (volumes !== true) return none;
  if (all === true)
    return `no container and no volume${agent === undefined ? '' : ` for the agent ${quoted(agent)}`}`;
  const whose = agent === undefined ? '' : ` --agent ${quoted(agent)}`;
  return `${none}; what no container uses goes with: cai rm --volumes --all${whose}`;
}

/** What is to go and carries our label, each volume with the containers that stay and need it. */
async function volumesToGo(
  engine: Engine,
  { containers, root }: { readonly containers: readonly OwnContainer[]; readonly root: string | undefined },
  { volumes, all, agent }: Options,
  uid: number,
): Promise<(OwnVolume & { readonly users: readonly OwnContainer[] })[]> {
  if (volumes !== true) return [];
  const going = new Set(containers.map(({ id }) => id));
  const named = new Set(containers.flatMap(volumesUsed));
  const own = await ownVolumes(engine, uid);
  const staying = (await ownContainers(engine, uid)).filter(({ id }) => !going.has(id));
  const isMeant = ({ kind, agent: its, workspace }: OwnVolume): boolean => {
    const isOfRoot = root !== undefined && workspace === root;
    const isOfAllAgents = kind === 'copy' || kind === 'folder';
    return (isOfRoot && isOfAllAgents) || ((isOfRoot || all === true) && (agent ?? its) === its);
  };
  return own
    .filter((volume) => named.has(volume.name) || isMeant(volume))
    .map((volume) => ({
      ...volume,
      users: staying.filter((each) => volumesUsed(each).includes(volume.name)),
    }));
}

/** Whether the user agrees. Rejects with `CaiError('USAGE')` where nobody can be asked. */
async function mayRemove(volumes: readonly OwnVolume[]): Promise<boolean> {
  const ofKind = (kind: string) => volumes.filter((each) => each.kind === kind);
  const workspacesOf = (kind: string) => joined(ofKind(kind).map(({ workspace }) => quoted(workspace)));
  const agents = joined(ofKind('agent').map(({ agent }) => agent));
  const where = ofKind('agent').every(({ name }) => isOfOneWorkspace(name)) ? '' : ' for all workspaces';
  const services = ofKind('service').map(({ service }) => service);
  const contents = {
    agent: `the data of ${agents}${where}: settings, history, and sign-ins that are kept there`,
    copy: `the copy of ${workspacesOf('copy')}, with all that "cai pull" has not brought back`,
    folder: `the folders of ${workspacesOf('folder')} that container.own names`,
    service: `the data of the services ${services.join(', ')}`,
  };
  const all = Object.entries(contents).flatMap(([kind, content]) => (ofKind(kind).length > 0 ? content : []));
  const what = `This removes ${all.join('; and ')}.`;
  return await confirm(`${what} Go on?`, `${what} Use --yes to agree, or leave out --volumes.`);
}

function joined(names: readonly string[]): string {
  return [...new Set(names)].join(', ');
}
