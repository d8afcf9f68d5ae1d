/** `cai images`: the images that `cai` has built or fetched. */
import type { Host } from '../../system/host';
import type { StoredImage } from '../../container/engine/engine-info';
import { imageLabel, isAgentImage, isEnvironment, shortId } from '../../container/image/image-tag';
import { ownContainers, type OwnContainer } from '../../container/user-containers';
import { CaiError } from '../../errors';
import { common, declare } from '../support/command';
import { ageOf, bytesText, table, tell, writeJson } from '../support/terminal';
import { connectEngine } from './selection';

interface Options {
  readonly json?: true;
  readonly context?: string;
}

/** Writes the list to stdout, and to stderr a hint if it is empty; resolves with 0. */
export const run = declare<Options>({
  name: 'images',
  description: `Lists the images of agents, the environments on which they are built, and what builds have left. OWN is what
the end of an image would give back; the rest of SIZE is in other images, too.`,
  options: [common.json, common.context],
  footer: `
To remove what is not used any more: cai prune

JSON: an array of objects: id, names, agents, workspace (whose own image it is, or null), base (the environment, or null),
bytes, sharedBytes, ownBytes, containers (names of yours), createdAt and ageMs.`,
  action: list,
});

async function list({ json, context }: Options, host: Host): Promise<number> {
  const engine = await connectEngine(host, context);
  const use = await engine.diskUse?.();
  if (use === undefined)
    throw new CaiError('USAGE', 'Kubernetes does not tell its images: each node has what its pods needed');
  const containers = await ownContainers(engine, host.user.uid);
  const rows = use.images
    .filter(isOurs)
    .map((image) => rowOf(image, containers))
    .sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  if (json === true) writeJson(rows);
  else {
    const head = ['NAME', 'AGENT', 'BASE', 'SIZE', 'OWN', 'CONTAINERS', 'AGE'];
    const lines = rows.map((row) => {
      const { agents, base, bytes, ownBytes, containers: users, ageMs } = row;
      const sizes = [bytesText(bytes), bytesText(ownBytes), String(users.length)];
      return [
        nameOf(row),
        agents.join(', ') || '-',
        base?.replace(/^.*:/, '') ?? '-',
        ...sizes,
        ageOf(ageMs),
      ];
    });
    process.stdout.write(table([head, ...lines], ['NAME', 'BASE']));
  }
  if (rows.length === 0) tell('no images: "cai build" makes one');
  return 0;
}

/** Images that somebody has built on ours have our labels, too. */
function isOurs({ tags, labels }: StoredImage): boolean {
  if (tags.length > 0) return tags.some((tag) => isAgentImage(tag) || isEnvironment(tag));
  return labels[imageLabel.recipe] !== undefined || labels[imageLabel.stage] !== undefined;
}

/** Images of agents that are alike are one image with several names. */
function nameOf({ names, id }: Readonly<{ names: readonly string[]; id: string }>): string {
  return names.join(', ') || shortId(id);
}

/** As far as its name is fit for a tag, to which `imageTagOf` adds hashes; none for an environment. */
function agentOf(tag: string): string[] {
  return /(?:^|\/)containai:(.+?)(?:-[\da-f]{12})*(?:-base)?$/.exec(tag)?.slice(1) ?? [];
}

function rowOf(image: StoredImage, containers: readonly OwnContainer[]) {
  const { id, tags, labels, bytes, sharedBytes, createdAt = 0 } = image;
  const users = containers.filter((each) => each.image !== undefined && shortId(each.image) === shortId(id));
  return {
    id,
    names: tags,
    agents: [...new Set(tags.flatMap(agentOf))],
    workspace: labels[imageLabel.repository] ?? null,
    base: labels[imageLabel.environment] ?? null,
    bytes,
    sharedBytes,
    ownBytes: bytes - sharedBytes,
    containers: users.map(({ name }) => name),
    createdAt: new Date(createdAt).toISOString(),
    ageMs: Math.max(Date.now() - createdAt, 0),
  };
}
