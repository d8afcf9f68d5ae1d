/** Repositories with a devcontainer.json, and what their containers are asked for. */
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { isKubernetes } from './engines';
import { buildTimeoutMs, onceInRun } from './place';
import type { Ended } from './running';
import { Cai, docker, folder, newWorkspace, ownFile } from './support';

/** No cluster builds images. */
export const hasDevcontainers = !isKubernetes;

/** Where the file is in a repository. */
export const devcontainerFile = '.devcontainer/devcontainer.json';

/** Texts, or what is to be JSON, by path. */
export type Files = Readonly<Record<string, string | object>>;

/** An image that stays, with the packages that `set-up` would fetch anew for each image that has others below it. */
export const base = 'cai-test-devcontainer:1';

const baseDockerfile = `FROM node:22-bookworm-slim
RUN apt-get update -qq && apt-get install -qq -y --no-install-recommends bash ca-certificates curl git openssh-client openssh-server perl procps && rm -rf /var/lib/apt/lists/*
`;

/** A Dockerfile whose image tells that it is another one than ours. */
export const marked = {
  '.devcontainer/Dockerfile': `FROM ${base}\nRUN touch /from-devcontainer\n`,
} as const;

if (hasDevcontainers) beforeAll(() => onceInRun('devcontainer-base', buildBase), buildTimeoutMs);

/** Builds it, unless it is there as it is here. */
function buildBase(): void {
  const args = ['build', '--quiet', '--network', 'host', '--tag', base, '-'];
  execFileSync('docker', args, { input: baseDockerfile, stdio: ['pipe', 'ignore', 'inherit'] });
}

/** What tells it inside. */
export const whose = 'if test -e /from-devcontainer; then echo theirs; else echo ours; fi';

/** A user whose agent needs no packages: the container is what counts. */
export const newUser = (): Cai => new Cai('[agent]\ndefault = "plain"\n[agents.plain]\ncommand = ["true"]\n');

/** Their images are found by their content: not those that a test run left which was cut off. */
const name = randomUUID();

/** A workspace with these files, and a devcontainer.json with these settings. */
export function newProject(settings: object, files: Files = {}, workspace = newWorkspace()): string {
  const all = { [devcontainerFile]: { name, build: { dockerfile: 'Dockerfile' }, ...settings }, ...files };
  for (const [path, content] of Object.entries(all))
    ownFile(join(workspace, path), typeof content === 'string' ? content : JSON.stringify(content));
  return workspace;
}

/** The user agrees to it. */
export const trust = (cai: Cai, workspace: string): Promise<Ended> =>
  cai.start(['trust', '--yes', workspace]).succeeds();

/** A script in the container of a workspace; rejects if it fails. */
export async function inside(cai: Cai, workspace: string, script: string): Promise<Ended & { text: string }> {
  const args = ['exec', '--workspace', workspace, '--', 'sh', '-c', script];
  const ended = await cai.run(args, { limitMs: buildTimeoutMs });
  if (ended.status !== 0) throw new Error(`${script}: ${ended.status}\n${ended.stderr}`);
  return { ...ended, text: ended.stdout.toString().trim() };
}

/** Removes the images of this test file's workspaces, and what is below them; their containers are gone by then. */
export async function removeImages(): Promise<void> {
  const ids = await docker('images', '--quiet', '--filter', 'label=containai.devcontainer');
  const label = (name: string) => `{{index .Config.Labels "containai.${name}"}}`;
  const format = `${label('repository')} ${label('environment')} {{join .RepoTags " "}}`;
  const names = new Set<string>();
  for (const id of new Set(ids.split('\n').filter(Boolean))) {
    // Another test file may have removed its own meanwhile.
    const said = await docker('inspect', '--format', format, id).catch(() => '');
    const [repository = '', ...own] = said.split(' ');
    if (repository.startsWith(`${folder}/`)) for (const name of own.reverse()) names.add(name);
  }
  for (const name of [...names, 'dev_container_feature_content_temp'])
    await docker('rmi', '--force', name).catch(() => undefined);
}
