/** Which images of ours serve nobody any more. */
import type { StoredImage } from '../engine/engine-info';
import { imageLabel, isAgentImage, isEnvironment } from './image-tag';

interface UnusedImage {
  readonly image: StoredImage;
  /** Why it can go, as people read it: `left over from a build`. */
  readonly because: string;
}

/**
 * Those of `images` that are ours and of no use: what builds have left, what belongs to workspaces that are gone, and
 * environments on which no other image is built; with `withAgents` also those of agents that no container has. In the
 * order in which they have to go: an environment after what is built on it. What a container is made from stays.
 */
export function unusedImages(
  images: readonly StoredImage[],
  { withAgents, isGone }: { withAgents: boolean; isGone: (root: string) => boolean },
): UnusedImage[] {
  const reasonOf = ({ labels, tags, isUsed }: StoredImage): string | undefined => {
    // Images that somebody has built on ours have our labels, too.
    if (isUsed || !tags.every(isAgentImage)) return undefined;
    if (labels[imageLabel.stage] !== undefined && tags.length === 0) return 'left over from a build';
    if (labels[imageLabel.recipe] === undefined) return undefined;
    if (tags.length === 0) return 'a newer one has its name';
    const root = labels[imageLabel.repository];
    if (root !== undefined && isGone(root)) return `${root} is gone`;
    return withAgents ? 'no container has it' : undefined;
  };
  const going = images.flatMap((image) => {
    const because = reasonOf(image);
    return because === undefined ? [] : [{ image, because }];
  });
  const staying = images.filter((image) => !going.some((each) => each.image === image));
  const needed = new Set(staying.map(({ labels }) => labels[imageLabel.environment]));
  const environments = images.filter(
    ({ tags, isUsed }) => !isUsed && tags.some(isEnvironment) && !tags.some((tag) => isNeeded(tag, needed)),
  );
  return [...going, ...environments.map((image) => ({ image, because: 'no image is built on it' }))];
}

function isNeeded(tag: string, needed: ReadonlySet<string | undefined>): boolean {
  // podman writes a registry in front.
  return needed.has(tag) || needed.has(tag.slice(tag.lastIndexOf('/') + 1));
}
