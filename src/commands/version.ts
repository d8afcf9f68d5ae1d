import { version } from '../../package.json';

/** `cai --version`: writes the version to stdout. */
export function run(): Promise<number> {
  process.stdout.write(`cai ${version}\n`);
  return Promise.resolve(0);
}
