/** How an agent of the registry gets into an image, and what is started there. */
import { architectures, type Architecture, type ArchiveTarget, type RegistryEntry } from './entry';

/** What an image is given besides what all agents have. */
export interface Installation {
  /** What the program is called in the image: no option and no path. */
  readonly program: string;
  readonly what: string;
  readonly env: Readonly<Record<string, string>>;
  /** From where. A package is a name with an exact version; `cmd`: its program, absent: as `npx` and `uvx` choose. */
  readonly from:
    | { readonly kind: 'npm' | 'pypi'; readonly spec: string; readonly name: string; readonly cmd?: string }
    | { readonly kind: 'archive'; readonly targets: Readonly<Partial<Record<Architecture, ArchiveTarget>>> };
}

/** By packages if there are some: their registries check what they give. `program`: default the id. */
export function installationOf(entry: RegistryEntry, program = entry.id): Installation {
  const { npx, uvx, binary = {} } = entry;
  const { env } = startOf(entry);
  const chosen = npx ?? uvx;
  if (chosen === undefined) {
    const urls = architectures.flatMap((each) => binary[each]?.archive ?? []);
    return { program, env, what: urls.join(' or '), from: { kind: 'archive', targets: binary } };
  }
  const { name, version, cmd } = chosen;
  const [kind, spec] =
    npx === undefined ? (['pypi', `${name}==${version}`] as const) : (['npm', `${name}@${version}`] as const);
  const what = `${spec} (${kind === 'npm' ? 'npm' : 'PyPI'})`;
  return { program, env, what, from: { kind, spec, name, ...(cmd !== undefined && { cmd }) } };
}

/** The arguments behind the program. */
export function commandOf(entry: RegistryEntry): readonly string[] {
  return startOf(entry).args;
}

/** Targets for several processors are started alike. */
function startOf({ npx, uvx, binary = {} }: RegistryEntry): Pick<ArchiveTarget, 'args' | 'env'> {
  const [first] = architectures.flatMap((each) => binary[each] ?? []);
  return npx ?? uvx ?? first!;
}
