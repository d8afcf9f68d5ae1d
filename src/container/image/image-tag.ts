/** What the image of an agent is called. Apart from the building of it, so that it can be had without an engine. */
import { installationFor } from '../../agent/catalog';
import type { Installation } from '../../agent/registry/installation';
import type { Config } from '../../config/config';
import { builtin } from '../../system/builtin';
import type { Host } from '../../system/host';

/** What our own part is called of an image that a Dockerfile of the user adds to. */
export const baseSuffix = '-base';

/**
 * Labels of our images. `containai.managed` is not one of them: containers inherit labels, and one that
 * somebody else starts from our image is not ours. `recipe` is the hash of everything that the image is made from, but
 * for what build steps fetch; `packages` are the npm packages that were asked for; `environment` is the name of the
 * image below; `repository` is the root of the workspace whose own image it is. Of a build, what has `stage` is left over.
 */
export const imageLabel = {
  recipe: 'containai.recipe',
  packages: 'containai.packages',
  environment: 'containai.environment',
  repository: 'containai.repository',
  stage: 'containai.stage',
  // On one of a development container: `Devcontainer.digest`.
  devcontainer: 'containai.devcontainer',
} as const;

export interface ImageOwner {
  readonly agent: string;
  /**
   * Root of the workspace whose own configuration, which the user trusts for that workspace, has a say in
   * `[image]`: its image is its own.
   */
  readonly repository?: string;
  /** What the development container of that workspace is made from, as a hash; absent: the workspace has no such container. */
  readonly madeFrom?: string;
  /** What stands before its name: the registry that has it, with a path. */
  readonly registry?: string | undefined;
  /** Of an agent of the registry of agents: another version is another image, without anybody having to build it. */
  readonly installation?: Installation | undefined;
}

/** The image of an agent by the user's configuration alone. */
export function usualImage(agent: string, config: Pick<Config, 'agents' | 'image'>, host: Host): ImageOwner {
  const installation = installationFor(agent, config.agents, host);
  return { agent, registry: config.image.registry, ...(installation !== undefined && { installation }) };
}

/** The name of an agent's image: `containai:<agent>`, where that is fit for a tag, and the registry before it. */
export function imageTagOf({ agent, repository, registry, installation, madeFrom }: ImageOwner): string {
  const isFit = /^\w[\w.-]{0,63}$/.test(agent) && !agent.endsWith(baseSuffix);
  const name = isFit ? agent : `${agent.replace(/\W+/g, '-').slice(0, 40)}-${shortHash([agent])}`;
  const prefix = registry === undefined ? '' : `${registry}/`;
  const ofWorkspace = madeFrom === undefined ? repository : `${repository}\0${madeFrom}`;
  const parts = [
    name.replace(/^-+/, ''),
    ...[installation, ofWorkspace].flatMap((each) => (each === undefined ? [] : shortHash([each]))),
  ];
  return `${prefix}containai:${parts.join('-')}`;
}

/** The name of an environment, which is the same for all that is made from the same. */
export function environmentTagOf(recipe: string): string {
  return `containai-environment:${recipe}`;
}

/** Whether an image of that name is one of an agent, with or without a registry in front. */
export function isAgentImage(tag: string): boolean {
  return /(?:^|\/)containai:/.test(tag);
}

/** Whether an image of that name is an environment; podman writes a registry in front. */
export function isEnvironment(tag: string): boolean {
  return /(?:^|\/)containai-environment:/.test(tag);
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
