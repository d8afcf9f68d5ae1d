/** What `cai doctor` looks at, and what it has found so far. */
import type { Host } from '../../system/host';
import type { AgentCommand } from '../../agent/catalog';
import type { ContainerInfo } from '../../container/engine/container-info';
import type { NamedEngine } from '../../container/engine/find-engine';
import type { Engine } from '../../container/engine/engine';
import type { EngineAbout, ImageInfo } from '../../container/engine/engine-info';
import type { ClientKey } from '../../container/ssh/keys';
import type { Settings } from '../../container/spec/spec';
import type { OwnVolume } from '../../container/user-containers';
import type { Config } from '../../config/config';
import { CaiError, messageOf } from '../../errors';

export interface Finding {
  /** `skip`: something else has to be mended, or started, before this can be told. */
  readonly status: 'ok' | 'warn' | 'fail' | 'skip';
  readonly detail: string;
  /** What to do, where the detail does not say so. */
  readonly remedy?: string | undefined;
}

const finding =
  (status: Finding['status']) =>
  (detail: string, remedy?: string): Finding => ({ status, detail, remedy });

export const [ok, warn, fail] = [finding('ok'), finding('warn'), finding('fail')];

export type Check = { readonly name: string } & Finding;

/** What later checks need: each fact is set by the check that finds it out. */
export interface Facts {
  readonly host: Host;
  readonly wanted: { readonly workspace?: string; readonly agent?: string; readonly context?: string };
  /** Where commands work; without a root, in no workspace. */
  place?: { readonly root: string | undefined };
  /** Whether the state folder can be used. */
  hasState?: true;
  key?: ClientKey;
  /** The configuration of the workspace, the agent that is meant, and what its container is to be. */
  configured?: { readonly config: Config; readonly agent: AgentCommand; readonly settings: Settings };
  named?: NamedEngine;
  /** The engine, which answers, and what it says of itself. */
  engine?: { readonly client: Engine; readonly about: EngineAbout };
  image?: ImageInfo | undefined;
  /** The container of the workspace and the agent. */
  container?: ContainerInfo | undefined;
  signedIn?: readonly OwnVolume[];
  /** What a command in the container has seen: the path of the agent's program, and `uid:gid` of its data's owner. */
  inside?: { readonly program: string; readonly owner: string };
}

/** Why a check has to be left out that needs a fact which is not known. */
const lacking = {
  place: 'this needs the workspace',
  configured: 'this needs the configuration',
  named: 'there is no Docker context to ask',
  engine: 'this needs the engine',
  image: 'there is no image to look into volumes with',
  container: 'there is no container yet',
  inside: 'nothing can be asked inside',
} as const satisfies { readonly [K in keyof Facts]?: string };

/** Thrown by a check that has to be left out; the message says why. */
export class Skipped extends Error {}

/** A fact that a check cannot do without. Throws `Skipped`. */
export function need<K extends keyof typeof lacking>(facts: Facts, name: K): NonNullable<Facts[K]> {
  const fact = facts[name];
  if (fact === undefined) throw new Skipped(lacking[name]);
  return fact;
}

/** Looks at one thing; `undefined`: there is nothing to say of it. */
export type Look = (facts: Facts) => Finding | undefined | Promise<Finding | undefined>;

/** Runs checks one after the other, and tells each as soon as it is done. None stops the next, whatever is thrown. */
export async function runChecks(
  looks: readonly (readonly [name: string, look: Look])[],
  facts: Facts,
  tell: (check: Check) => void,
): Promise<Check[]> {
  const done: Check[] = [];
  for (const [name, look] of looks) {
    const finding = await attempt(look, facts);
    if (finding === undefined) continue;
    done.push({ name, ...finding });
    tell({ name, ...finding });
  }
  return done;
}

async function attempt(look: Look, facts: Facts): Promise<Finding | undefined> {
  try {
    return await look(facts);
  } catch (reason) {
    // It would leave each further question unanswered for as long.
    if (reason instanceof CaiError && reason.code === 'NOT_READY') delete facts.engine;
    return { status: reason instanceof Skipped ? 'skip' : 'fail', detail: messageOf(reason) };
  }
}
