/** That the gate runs the tests of containers again whenever something changes that they import. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const root = resolve(__dirname, '..');
const suites = ['engine', 'escape', 'kubernetes', 'kubernetes/alone'].map((name) => `test/${name}`);
const imports = /(?:from|import|require\(|import\()\s*['"](\.[^'"]+)['"]/g;

/** The file of the repository that an import names in another one. */
function fileOf(from: string, named: string): string {
  const path = join(dirname(from), named);
  const forms = [path, `${path}.ts`, `${path}.mjs`, join(path, 'index.ts')];
  const found = forms.find((each) => existsSync(join(root, each)) && statSync(join(root, each)).isFile());
  if (found === undefined) throw new Error(`${from} imports ${named}, which is not there`);
  return found;
}

/** All that these files import, and what that does. */
function reached(files: readonly string[]): Set<string> {
  const all = new Set(files);
  for (const file of all) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, named] of text.matchAll(imports)) all.add(fileOf(file, named!));
  }
  return all;
}

test('what the tests of containers import is among the inputs by which their results are kept', async () => {
  const steps = (await import(join(root, '.ci/gate/steps.mjs'))) as { readonly ofContainers: string[] };
  const isExcluded = (input: string) => input.startsWith(':(exclude)');
  const inputs = steps.ofContainers.filter((each) => !isExcluded(each));
  const excluded = steps.ofContainers.filter(isExcluded).map((each) => each.slice(':(exclude)'.length));
  const isBelow = (file: string) => (folder: string) => file === folder || file.startsWith(`${folder}/`);

  const files = reached(
    suites.flatMap((folder) =>
      readdirSync(join(root, folder))
        .filter((name) => /\.(ts|mjs|cjs)$/.test(name))
        .map((name) => `${folder}/${name}`),
    ),
  );

  expect([...files].filter((file) => !inputs.some(isBelow(file)) || excluded.some(isBelow(file)))).toEqual(
    [],
  );
  expect(files).toContain('test/support/nightly.ts');
});
