import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const repository = resolve(__dirname, '..');
const attacks = join(repository, 'test/escape');
const prose = readFileSync(join(repository, 'docs/security.md'), 'utf8');
const mark = '<!-- The list below is written by: node test/escape/list.mjs --write -->';
const [, list = ''] = readFileSync(join(attacks, 'ATTACKS.md'), 'utf8').split(mark);
const files = readdirSync(attacks).filter((name) => name.endsWith('.test.ts'));
const maxWords = 1_050;

describe('test/escape/ATTACKS.md', () => {
  test('lists every attempt by its name, and no other: node test/escape/list.mjs --write', () => {
    const { stdout, stderr, status } = spawnSync(process.execPath, [join(attacks, 'list.mjs')], {
      encoding: 'utf8',
    });

    expect([status, stderr]).toEqual([0, '']);
    expect(mark + list).toBe(stdout);
    expect(stdout.match(/^- /gm)?.length).toBeGreaterThan(60);
  });

  test('names no attempt twice', () => {
    const names = [...(list.match(/^- .*/gm) ?? [])].map(String);

    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });
});

describe('docs/security.md', () => {
  test('says of every file with attempts, once, what stops them', () => {
    const rows = prose.split('\n').filter((line) => line.startsWith('|'));
    const cited = rows.flatMap((row) => {
      const last = row.split('|').at(-2)!;
      return [...last.matchAll(/\(\.\.\/test\/escape\/([\w-]+\.test\.ts)\)/g)].map(([, name]) => name!);
    });

    expect(cited.sort()).toEqual(files.filter((name) => name !== 'open.test.ts').sort());
  });

  test('lists as open what has a test that shows it, and nothing else', () => {
    const source = readFileSync(join(attacks, 'open.test.ts'), 'utf8');
    const shown = [...source.matchAll(/^open\(\s*'([^']*)'/gm)].map(([, name]) => name!);
    const told = prose.split('## What remains open\n')[1]!.match(/(?<=^- ).*/gm) ?? [];

    expect(shown.length).toBeGreaterThan(0);
    expect(told.map((line) => shown.find((name) => line.startsWith(name)) ?? line)).toEqual(shown);
  });

  test('can be read in one go', () => {
    expect(prose.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThan(maxWords);
  });
});
