import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Host } from '../../src/system/host';
import { loadConfig } from '../../src/config/config';
import { mayHaveOwnData } from '../../src/config/workspace-data';
import { newFolder } from '../support/temp-folder';

const env = { HOME: newFolder() };
const usual = loadConfig(new Host(env));
const own = { ...usual, agent: { ...usual.agent, data: 'workspace' as const } };

/** A folder in a folder in which `put` has made a repository's file. */
function below(put: (file: string) => void, root = newFolder()): string {
  mkdirSync(join(root, '.containai'));
  put(join(root, '.containai/config.toml'));
  return join(root, 'a/b');
}

const saying = (text: string) => (file: string) => writeFileSync(file, text);

describe('mayHaveOwnData', () => {
  test('is true wherever the user says so', () => {
    expect(mayHaveOwnData(own, '/', new Host(env).home)).toBe(true);
  });

  test.each([
    ['says so', saying('agent = { data = "workspace" }')],
    ['is too long to be read', saying('#'.repeat(65 * 1024))],
    ['is a link', (file: string) => symlinkSync('/etc/passwd', file)],
    ['would be waited for', (file: string) => void execFileSync('mkfifo', [file])],
  ])('is true below a file that %s', (_, put) => {
    expect(mayHaveOwnData(usual, below(put), new Host(env).home)).toBe(true);
  });

  test('is false where no file says something about data', () => {
    expect(mayHaveOwnData(usual, newFolder(), new Host(env).home)).toBe(false);
    expect(mayHaveOwnData(usual, below(saying('[acp]\nfs = "off"\n')), new Host(env).home)).toBe(false);
  });

  test('takes nothing from the home folder, which is no workspace', () => {
    expect(
      mayHaveOwnData(usual, below(saying('[agent]\ndata = "workspace"\n'), env.HOME), new Host(env).home),
    ).toBe(false);
  });
});
