/** `cai pull`: brings back what agents have done in the copy of a workspace. Nothing of the user's own is changed. */
import { Option } from 'commander';
import { size } from '../../config/config-kinds';
import type { Brought } from '../../container/copy/copy';
import { explained } from '../../container/endings';
import { copyVolumeName } from '../../container/spec/names';
import { ownContainers, ownVolumes } from '../../container/user-containers';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { Target, type TargetOptions } from '../containers/target';
import { common, declare } from '../support/command';
import { tell } from '../support/terminal';

type Options = Pick<TargetOptions, 'agent' | 'context' | 'quiet'> & {
  readonly workspace?: string;
  readonly limit: string;
};

/** Resolves with 0, also if there is nothing to bring. */
export const run = declare<Options>({
  name: 'pull',
  description: `Brings back what agents have done in the copy that they have of a workspace in a cluster: the branches that
have more commits than yours, as cai/BRANCH, and what is not committed there as the commit cai/uncommitted. Your own
branches and files stay as they are.`,
  options: [
    common.workspace,
    common.agent,
    new Option('--limit <size>', 'take at most so much').default('1GiB'),
    common.context,
    common.quiet,
  ],
  action: pull,
});

/** So many names that are not taken are told one by one. */
const maxRefused = 5;

async function pull({ limit, ...options }: Options, host: Host): Promise<number> {
  const most = size('1MiB').read(limit);
  if (most === undefined) throw new CaiError('USAGE', `--limit must be ${size('1MiB').expected}`);
  const target = await targetOf(options, host);
  if (target === undefined) {
    tell('nothing to bring: there is no copy in the cluster');
    return 0;
  }
  const { container, connection } = await target.connect();
  try {
    const { brought, refused } = await target.wanted.copy!.pull(connection, most);
    for (const name of refused.slice(0, maxRefused))
      tell(`not brought, because of its name: ${quoted(name)}`);
    if (refused.length > maxRefused)
      tell(`not brought, because of their names: ${refused.length - maxRefused} more`);
    if (brought.length === 0) tell('nothing to bring: the copy has no work that is not here');
    else process.stdout.write(brought.map(toldOf).join('\n'));
    return 0;
  } catch (reason) {
    throw await explained(reason, target.wanted.engine, container);
  } finally {
    await connection.end();
  }
}

/** A container that has the copy, which may be another agent's; `undefined`: there is no copy. */
async function targetOf(options: Omit<Options, 'limit'>, host: Host): Promise<Target | undefined> {
  const target = await Target.find(options, host);
  const { copy, engine, settings } = target.wanted;
  if (copy === undefined)
    throw new CaiError(
      'WORKSPACE',
      'there is nothing to bring back: agents work in the folder itself, because no copy of it is configured (copy = "git" in [kubernetes])',
    );
  const volume = copyVolumeName(settings);
  if (!(await ownVolumes(engine, host.user.uid)).some(({ name }) => name === volume)) return undefined;
  if (options.agent !== undefined) return target;
  // The one that runs has the volume on its node.
  const containers = await ownContainers(engine, host.user.uid);
  const running = containers.find(({ copyVolume, state }) => copyVolume === volume && state === 'running');
  if (running === undefined || running.agent === settings.agent) return target;
  return await Target.find({ ...options, agent: running.agent, quiet: true }, host);
}

function toldOf({ name, commits }: Brought): string {
  const many = commits === 1 ? '1 commit' : `${commits} commits`;
  return `${name}: ${many}\n  git diff HEAD ${name}\n  git merge ${name}\n`;
}
