import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLog, LogFile, stemOf } from '../../src/system/log-file';
import { newFolder } from '../support/temp-folder';

const head = { pid: 7, agent: 'claude', version: '1.2.3' };
const isGone = (): boolean => false;
const openFiles = (): number => readdirSync('/proc/self/fd').length;

describe('LogFile', () => {
  test('makes a file at its first line, for its owner alone, that says whose it is', () => {
    const folder = join(newFolder(), 'deep/logs');
    const file = new LogFile(folder, head, isGone);
    expect(() => readdirSync(folder)).toThrow();

    file.write('{"msg":"one"}\n');
    file.write('{"msg":"two"}\n');

    const [name, ...more] = readdirSync(folder);
    expect(more).toEqual([]);
    expect(name).toMatch(/^\d{8}T\d{6}\.\d{3}Z-7\.log$/);
    const lines = readFileSync(join(folder, name!), 'utf8').trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 30, pid: 7, agent: 'claude', msg: 'cai 1.2.3' },
      { msg: 'one' },
      { msg: 'two' },
    ]);
    expect(statSync(join(folder, name!)).mode & 0o777).toBe(0o600);
  });

  test('keeps the last lines of a long log, in two files of half a MiB', () => {
    const folder = newFolder();
    const file = new LogFile(folder, head, isGone);
    const line = (index: number): string => `{"i":${index},"x":"${'x'.repeat(10_000)}"}\n`;

    for (let index = 0; index < 200; index++) file.write(line(index));

    const names = readdirSync(folder).sort();
    expect(names.map((name) => name.replace(/.*-7/, ''))).toEqual(['.log', '.old.log']);
    expect(new Set(names.map(stemOf)).size).toBe(1);
    for (const name of names) expect(statSync(join(folder, name)).size).toBeLessThan(540_000);
    const kept = [names[1], names[0]].map((name) => readFileSync(join(folder, name!), 'utf8')).join('');
    expect(kept.endsWith(line(199))).toBe(true);
    expect(kept).toContain('{"i":149,');
  });

  test('leaves the logs of the last 20 processes', () => {
    const folder = newFolder();
    for (let second = 10; second < 40; second++) {
      for (const end of ['log', 'old.log'])
        writeFileSync(join(folder, `20260101T0000${second}.000Z-1.${end}`), '');
    }
    writeFileSync(join(folder, 'notes'), '');

    new LogFile(folder, head, isGone).write('x\n');

    const names = readdirSync(folder);
    expect(new Set(names.filter(isLog).map(stemOf)).size).toBe(20);
    expect(names).toContain('notes');
    expect(names).toContain('20260101T000039.000Z-1.old.log');
    expect(names).not.toContain('20260101T000020.000Z-1.log');
  });

  test('leaves the logs of processes that run, however many have come since', () => {
    const folder = newFolder();
    for (let second = 10; second < 40; second++)
      writeFileSync(join(folder, `20260101T0000${second}.000Z-${second}.log`), '');

    new LogFile(folder, head, (pid) => pid === 12).write('x\n');

    const names = readdirSync(folder).sort();
    const pids = names.map((name) => Number(/-(\d+)\.log$/.exec(name)![1]));
    expect(pids.slice(0, 2)).toEqual([12, 21]);
    expect(pids).toHaveLength(21);
  });

  test('is beside others that the same process has begun at the same time', () => {
    jest.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    const folder = newFolder();
    const logs = ['one', 'two'].map((agent) => new LogFile(folder, { ...head, agent }, isGone));
    jest.useRealTimers();

    for (const log of logs) log.write('x\n');

    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(texts.map((text) => (JSON.parse(text.split('\n')[0]!) as { agent: string }).agent).sort()).toEqual(
      ['one', 'two'],
    );
  });

  test('has its file closed at its end, and takes no more lines', () => {
    const folder = newFolder();
    const file = new LogFile(folder, head, isGone);
    file.write('one\n');
    const before = openFiles();

    file.end();
    file.end();
    file.write('two\n');

    expect(openFiles()).toBe(before - 1);
    const [name] = readdirSync(folder);
    expect(readFileSync(join(folder, name!), 'utf8').split('\n').slice(1)).toEqual(['one', '']);
  });

  test('is never a reason to fail', () => {
    const folder = join(newFolder(), 'file');
    writeFileSync(folder, '');

    expect(() => new LogFile(folder, head, isGone).write('x\n')).not.toThrow();
  });
});

describe('isLog', () => {
  test('knows only what a LogFile makes', () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'x'));
    new LogFile(folder, head, isGone).write('x\n');

    expect(readdirSync(folder).map(isLog).sort()).toEqual([false, true]);
    expect(['x.log', '../20260101T000000.000Z-1.log', '20260101T000000.000Z-1.log.gz'].filter(isLog)).toEqual(
      [],
    );
  });
});
