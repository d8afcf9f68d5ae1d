/** What the image of an agent is called. Apart from the building of it, so that it can be had without an engine. */
import { builtin } from '../../system/builtin';

/** What our own part is called of an image that a Dockerfile of the user adds to. */
export const baseSuffix = '-base';

/** Whose image it is. */
export interface ImageOwner {
  /** Name of the agent. */
  readonly agent: string;
  /**
   * Root of the workspace whose own configuration, which the user trusts for that workspace, has a say in
   * `[image]`: its image is its own.
   */
  readonly repository?: string;
}

/** The tag of an agent's image: `containai:<agent>`, where the name is fit for one. */
export function imageTagOf({ agent, repository }: ImageOwner): string {
  const isFit = /^\w[\w.-]{0,63}$/.test(agent) && !agent.endsWith(baseSuffix);
  const name = isFit ? agent : `${agent.replace(/\W+/g, '-').slice(0, 40)}-${shortHash([agent])}`;
  return `containai:${name.replace(/^-+/, '')}${repository === undefined ? '' : `-${shortHash([repository])}`}`;
}

/** Tells values apart that can be JSON: 12 hex digits. */
export function shortHash(value: unknown): string {
  // Loaded when it is wanted: the usual name needs none.
  const { createHash } = builtin('node:crypto');
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
}
