import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configFileOf, loadConfig } from '../../../src/config/config';
import { addToConfig } from '../../../src/commands/support/edit-config';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

let host: Host;
let file: string;

beforeEach(() => {
  host = new Host({ HOME: newFolder() });
  file = configFileOf(host);
  mkdirSync(dirname(file), { recursive: true });
});

const add = (...words: string[]) => addToConfig(host, ['image', 'apt'], words);

describe('addToConfig', () => {
  test('makes a file where there is none', () => {
    expect(add('golang')).toEqual(['golang']);

    expect(loadConfig(host).image.apt).toEqual(['golang']);
  });

  test('leaves everything else as it stands', () => {
    const text =
      '# mine\n[image]\nbase = "x" # why\napt = [\n  "jq", # for scripts\n]\n\n[env]\nimport = ["A"]\n';
    writeFileSync(file, text);

    expect(add('jq', 'golang', 'golang')).toEqual(['golang']);

    expect(readFileSync(file, 'utf8')).toBe(text.replace('# for scripts\n', '# for scripts\n  "golang",\n'));
  });

  test('changes nothing if all is there', () => {
    writeFileSync(file, '[image]\napt=["jq"]');

    expect(add('jq')).toEqual([]);

    expect(readFileSync(file, 'utf8')).toBe('[image]\napt=["jq"]');
  });

  test('writes the file behind a link', () => {
    const real = join(newFolder(), 'settings.toml');
    writeFileSync(real, '');
    symlinkSync(real, file);

    add('jq');

    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(loadConfig(host).image.apt).toEqual(['jq']);
  });

  test.each([
    ['is wrong', 'image = 7', 'jq'],
    ['would be', '[image]\n', '--option'],
  ])('changes no file that %s', (_what, text, word) => {
    writeFileSync(file, text);

    expect(() => add(word)).toThrow(expect.objectContaining(expectedError('CONFIG', file)) as Error);

    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test('says why a file cannot be written', () => {
    mkdirSync(join(file, '..', 'folder'));
    const elsewhere = new Host({ HOME: host.home, XDG_CONFIG_HOME: '/sys/none' });

    expect(() => addToConfig(elsewhere, ['image', 'apt'], ['jq'])).toThrow(/cannot be written: /);
  });
});
