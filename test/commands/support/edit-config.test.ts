import { lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { configFileOf, loadConfig } from '../../../src/config/config';
import { addToConfig, changeConfig } from '../../../src/commands/support/edit-config';
import type * as files from '../../../src/system/files/replace-file';
import { replaceFile } from '../../../src/system/files/replace-file';
import { Host } from '../../../src/system/host';
import { rememberAgentFolders } from '../../../src/system/paths/agent-folders';
import { newFolder } from '../../support/temp-folder';
import { expectedError } from '../../expected-error';

jest.mock('../../../src/system/files/replace-file', () => {
  const actual = jest.requireActual<typeof files>('../../../src/system/files/replace-file');
  return { ...actual, replaceFile: jest.fn(actual.replaceFile) };
});

let host: Host;
let file: string;

beforeEach(() => {
  host = new Host({ HOME: newFolder() });
  file = configFileOf(host);
  mkdirSync(dirname(file), { recursive: true });
});

const add = (...words: string[]) => addToConfig(host, ['image', 'apt'], words);

describe('changeConfig', () => {
  test('keeps what another process writes meanwhile', () => {
    let isFirst = true;
    changeConfig(host, (settings) => {
      if (isFirst) writeFileSync(file, '[image]\napt = ["jq"]\n');
      isFirst = false;
      return { ...settings, agent: { default: 'gemini' } };
    });

    expect(loadConfig(host)).toMatchObject({ image: { apt: ['jq'] }, agent: { default: 'gemini' } });
  });

  test('tells why it cannot write, not what another reading of the value would be', () => {
    const change = (persist: unknown) => () => ({ sessions: { persist } });
    jest.mocked(replaceFile).mockImplementationOnce(() => {
      throw new Error('the disk is full');
    });

    expect(() => changeConfig(host, change(true), change('true'))).toThrow('the disk is full');
  });
});

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

  test('writes no file behind a link where an agent works', () => {
    const folder = newFolder();
    const real = join(folder, 'settings.toml');
    writeFileSync(real, '');
    symlinkSync(real, file);
    rememberAgentFolders(host.folders.state, [folder]);

    expect(() => add('jq')).toThrow(expect.objectContaining(expectedError('CONFIG', folder)) as Error);

    expect(readFileSync(real, 'utf8')).toBe('');
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
