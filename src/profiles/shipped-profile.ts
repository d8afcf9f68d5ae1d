/** The `initialize` answers of our image's agents, which `fixtures/peers/profiles.mjs` records before a release. */
import { catalog, type AgentCommand } from '../agent/catalog';
import recorded from './shipped-profiles.json';
import type { JsonObject } from '../child/child-data';
import type { Config } from '../config/config';
import { ownValue } from '../config/own-property';
import { offers } from '../protocol/refusals';

interface ShippedProfile {
  /** The npm packages that answered so. */
  readonly packages: readonly string[];
  /** What the answer depends on: dotted paths in the client capabilities. */
  readonly dependsOn: readonly string[];
  /** By those of `dependsOn` that the client offers, in that order, parted by commas. */
  readonly answers: Readonly<Record<string, unknown>>;
}

const profiles: Readonly<Record<string, ShippedProfile>> = recorded;

/** The result of `initialize`, JSON text, of an agent that runs as our image has it; `undefined` for any other. */
export function shippedProfile(
  { name, command }: AgentCommand,
  { agents, image }: Pick<Config, 'agents' | 'image'>,
  clientCapabilities: JsonObject,
): string | undefined {
  const known = ownValue(catalog, name);
  const profile = ownValue(profiles, name);
  if (known === undefined || profile === undefined || image.dockerfile !== undefined) return undefined;
  const packages = ownValue(agents, name)?.packages ?? known.packages;
  const ours = JSON.stringify([known.command, profile.packages]);
  if (JSON.stringify([command, packages]) !== ours) return undefined;
  const answer = profile.answers[profile.dependsOn.filter((path) => offers(clientCapabilities, path)).join()];
  return answer === undefined ? undefined : JSON.stringify(answer);
}
