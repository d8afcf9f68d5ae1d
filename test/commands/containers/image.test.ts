import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { presets, run } from '../../../src/commands/containers/image';
import { configFileOf, loadConfig } from '../../../src/config/config';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

let host: Host;
let said: string;

beforeEach(() => {
  host = new Host({ HOME: newFolder() });
  said = '';
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => ((said += String(text)), true));
});

afterEach(() => jest.restoreAllMocks());

describe('cai image add', () => {
  test('adds the packages of a language, and such that one names', async () => {
    expect(await run(['add', 'go', 'libpq-dev'], host)).toBe(0);

    expect(loadConfig(host).image.apt).toEqual(['golang', 'libpq-dev']);
    expect(said).toBe(
      `cai: ${configFileOf(host)}: added golang, libpq-dev; to install them, for each agent that you use: cai build AGENT\n`,
    );
  });

  test('says so if they are there', async () => {
    mkdirSync(dirname(configFileOf(host)), { recursive: true });
    writeFileSync(configFileOf(host), `image.apt = ${JSON.stringify(presets.rust)}\n`);

    await run(['add', 'rust'], host);

    expect(said).toMatch(/has them already\n$/);
    expect(readFileSync(configFileOf(host), 'utf8')).toMatch(/^image\.apt/);
  });

  test.each([
    [['add', '-y'], /unknown option/],
    [
      ['add', 'No Package'],
      /"No Package" is neither a Debian package name nor one of python, go, rust, java, browser$/,
    ],
    [['add', 'toString'], /"toString" is neither/],
    [['remove', 'go'], /"cai image remove" is not a command/],
    [['add'], /missing required argument 'name'/],
  ])('refuses %j', async (args, why) => {
    await expect(run(args, host)).rejects.toThrow(why);
  });
});
