/** `deploy/`, as the kustomize in kubectl 1.20 takes it, which has other names for some fields, and for a version of an API. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { newFolder } from '../support/temp-folder';
import { kubectl } from './kubectl';

/** Source: kustomize 2.0, `types.Kustomization`. */
interface Kustomization {
  readonly resources: readonly string[];
  readonly patches?: readonly { readonly patch: string }[];
}

/** The objects of that folder of `deploy/`. */
export async function deployed<T>(part = 'base'): Promise<readonly T[]> {
  const copy = newFolder();
  cpSync(join(__dirname, '../../deploy'), copy, { recursive: true });
  const folder = join(copy, part);
  const file = join(folder, 'kustomization.yaml');
  const { resources, patches = [], ...rest } = parse(readFileSync(file, 'utf8')) as Kustomization;
  const names = patches.map((_, index) => `patch-${index}.yaml`);
  for (const [index, { patch }] of patches.entries()) writeFileSync(join(folder, names[index]!), patch);
  const older = {
    ...rest,
    bases: resources.filter((each) => !each.endsWith('.yaml')),
    resources: resources.filter((each) => each.endsWith('.yaml')),
    patchesStrategicMerge: names,
  };
  writeFileSync(file, stringify(older));
  const made = (await kubectl(['kustomize', folder])).replace('policy/v1\n', 'policy/v1beta1\n');
  return parseAllDocuments(made).map((each) => each.toJS() as T);
}
