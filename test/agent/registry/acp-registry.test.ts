import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findEntry, keepDocument, readRegistry } from '../../../src/agent/registry/acp-registry';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const later = '2100-01-01T00:00:00.000Z';
const agent = {
  ...{ id: 'newcomer', name: 'Newcomer', version: '1.0.0', description: 'x' },
  distribution: { npx: { package: 'newcomer@1.0.0' } },
};
const text = JSON.stringify({ version: '1.0.0', agents: [agent] });

let home: string;
let host: Host;
let file: string;

const shipped = readRegistry(new Host({ HOME: newFolder() }));

beforeEach(() => {
  home = newFolder();
  host = new Host({ HOME: home });
  file = join(host.folders.state, 'agents.json');
  mkdirSync(host.folders.state, { recursive: true });
});

describe('the list that comes with the package', () => {
  test('has agents, and none that cannot be used', () => {
    const { entries, dropped } = readRegistry(host);

    expect(entries.length).toBeGreaterThan(10);
    expect(entries.map(({ id }) => id)).toContain('auggie');
    expect(dropped).toEqual([]);
  });

  test('is used as long as a copy is older', () => {
    keepDocument(host, text, '2020-01-01T00:00:00.000Z');

    expect(readRegistry(host)).toEqual(shipped);
  });

  test.each([
    ['no JSON', '{'],
    ['without a date', JSON.stringify({ document: { agents: [agent] } })],
    ['no registry', JSON.stringify({ takenAt: later, document: {} })],
  ])('is used where the copy is damaged, and the fault is told: %s', (_, damaged) => {
    writeFileSync(file, damaged);

    expect(readRegistry(host)).toMatchObject({
      takenAt: shipped.takenAt,
      fault: expect.stringContaining(`${file} is not used: `) as string,
    });
  });

  test('is used where the copy is a link, which may lead anywhere', () => {
    symlinkSync('/etc/passwd', file);

    expect(readRegistry(host)).toMatchObject({
      takenAt: shipped.takenAt,
      fault: expect.stringContaining('is a symbolic link') as string,
    });
  });
});

describe('a newer copy', () => {
  test('takes the place of the list, all of it', () => {
    keepDocument(host, text, later);

    expect(readRegistry(host)).toMatchObject({ takenAt: later });
    expect(findEntry(host, 'newcomer')?.name).toBe('Newcomer');
    expect(findEntry(host, 'auggie')).toBeUndefined();
  });

  test('is kept as it was served', () => {
    keepDocument(host, text, later);

    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      takenAt: later,
      document: { version: '1.0.0', agents: [agent] },
    });
  });
});

test.each(['', 'toString', '__proto__', '../agents', 'AUGGIE'])('no agent has the id %j', (id) => {
  expect(findEntry(host, id)).toBeUndefined();
});
