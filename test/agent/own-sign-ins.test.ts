import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { loadConfig } from '../../src/config/config';
import { hasOwnSignIns, mayHaveOwnSignIns } from '../../src/agent/own-sign-ins';
import { newFolder } from '../support/temp-folder';

const env = { HOME: newFolder() };
const own = loadConfig(new Host(env));
const usual = { ...own, agent: { ...own.agent, data: 'shared' as const } };
const open = { ...own, network: { ...own.network, egress: 'open' as const } };

describe('hasOwnSignIns', () => {
  test.each([
    ['opencode', own, true],
    ['opencode', usual, false],
    ['made-up', own, true],
    ['claude', own, false],
    ['claude', open, true],
  ])('of %s', (agent, config, expected) => {
    expect(hasOwnSignIns(agent, config)).toBe(expected);
    expect(mayHaveOwnSignIns(agent, config, newFolder(), env.HOME)).toBe(expected);
  });
});

/** A folder in a folder in which `put` has made a repository's file. */
function below(put: (file: string) => void, root = newFolder()): string {
  mkdirSync(join(root, '.containai'));
  put(join(root, '.containai/config.toml'));
  return join(root, 'a/b');
}

const saying = (text: string) => (file: string) => writeFileSync(file, text);

describe('mayHaveOwnSignIns', () => {
  test('is true wherever the user says so', () => {
    expect(mayHaveOwnSignIns('opencode', own, '/', new Host(env).home)).toBe(true);
  });

  test.each([
    ['says so', saying('agent = { data = "workspace" }')],
    ['is too long to be read', saying('#'.repeat(65 * 1024))],
    ['is a link', (file: string) => symlinkSync('/etc/passwd', file)],
    ['would be waited for', (file: string) => void execFileSync('mkfifo', [file])],
  ])('is true below a file that %s', (_, put) => {
    expect(mayHaveOwnSignIns('opencode', usual, below(put), new Host(env).home)).toBe(true);
  });

  test('is false where no file says something about data', () => {
    expect(mayHaveOwnSignIns('opencode', usual, newFolder(), new Host(env).home)).toBe(false);
    expect(
      mayHaveOwnSignIns('opencode', usual, below(saying('[container]\npids = 100\n')), new Host(env).home),
    ).toBe(false);
  });

  test('takes nothing from the home folder, which is no workspace', () => {
    expect(
      mayHaveOwnSignIns(
        'opencode',
        usual,
        below(saying('[agent]\ndata = "workspace"\n'), env.HOME),
        new Host(env).home,
      ),
    ).toBe(false);
  });
});
