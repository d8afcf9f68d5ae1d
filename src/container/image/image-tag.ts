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
  /** What stands before its name: the registry that has it, with a path. */
  readonly registry?: string | undefined;
}

/** The name of an agent's image: `containai:<agent>`, where that is fit for a tag, and the registry before it. */
export function imageTagOf({ agent, repository, registry }: ImageOwner): string {
  const isFit = /^\w[\w.-]{0,63}$/.test(agent) && !agent.endsWith(baseSuffix);
  const name = isFit ? agent : `${agent.replace(/\W+/g, '-').slice(0, 40)}-${shortHash([agent])}`;
  const prefix = registry === undefined ? '' : `${registry}/`;
  return `${prefix}containai:${name.replace(/^-+/, '')}${repository === undefined ? '' : `-${shortHash([repository])}`}`;
}

/** How an image is shown to people: the first digits of its id. */
export function shortId(id: string): string {
  return id.replace(/^.*sha256:/, '').slice(0, 12);
}

/** Tells values apart that can be JSON: 12 hex digits. */
export function shortHash(value: unknown): string {
  // Loaded when it is wanted: the usual name needs none.
  const { createHash } = builtin('node:crypto');
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12);
}
