/**
 * A user whose default agent is one of the test file alone: "all" of that agent's containers are none but the
 * file's, and so are its data volumes. They are removed after each test.
 */
import { catalog } from '../../src/agent/catalog';
import { containerOf, untilRuns } from './inside';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { Cai, docker, user, type RunOptions } from './support';
import type { Running } from './running';

/** Name of the agent. Its image is the one of `claude`. */
export const agent = `commands-${process.pid}`;

/** The user's configuration, from which that image would be built again as it is. */
export const config = `[agents.${agent}]\ncommand = ["claude-agent-acp"]\npackages = ${JSON.stringify(catalog.claude!.packages)}\n[agent]\ndefault = "${agent}"\n`;

/** The same, but that all workspaces share the agent's data. */
export const sharingConfig = `${config}data = "shared"\n`;

/** The data volume that they share then. */
export const sharedVolume = `cai-data-${agent}-${user.uid}`;

/** The data volume of a container. */
export async function volumeOf({ name }: Pick<Listed, 'name'>): Promise<string> {
  const format = '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}}{{end}}{{end}}';
  return await docker('inspect', '--format', format, name);
}

/** The user's `cai`. */
export const cai = new Cai(config);

beforeAll(async () => {
  await provideImages('claude');
  await docker('tag', 'containai:claude', `containai:${agent}`);
}, buildTimeoutMs);

afterEach(async () => await cai.run(['rm', '--all', '--agent', agent, '--volumes', '--force']));

afterAll(async () => await docker('rmi', `containai:${agent}`));

/** A container in the output of `cai ps --json`. */
export interface Listed {
  readonly name: string;
  readonly id: string;
  readonly agent: string;
  readonly workspace: string | null;
  readonly state: string;
  readonly createdAt: string;
  readonly ageMs: number;
  readonly commands: number;
}

/** The agent's containers, as `cai ps` with these arguments lists them. */
export async function listed(...args: string[]): Promise<Listed[]> {
  const { stdout } = await cai.run(['ps', '--json', ...args]);
  return (JSON.parse(stdout.toString()) as Listed[]).filter((each) => each.agent === agent);
}

/** Runs `cai` in a workspace to its end. */
export async function runIn(cwd: string, args: readonly string[], options: RunOptions = {}) {
  const { status, stdout, stderr } = await cai.run(args, { cwd, ...options });
  return { status, stdout: stdout.toString(), stderr };
}

/** Makes the container of a workspace. */
export async function made(cwd: string): Promise<void> {
  expect(await runIn(cwd, ['exec', '--', 'true'])).toMatchObject({ status: 0 });
}

/** A command that has begun to run, and runs until it is ended. */
export async function startIn(cwd: string): Promise<Running> {
  const command = cai.start(['exec', '--', 'sh', '-c', 'echo begun; exec sleep 1000'], { cwd });
  await command.says('begun');
  await untilRuns(await containerOf(cwd, agent), 'sleep 1000');
  return command;
}
