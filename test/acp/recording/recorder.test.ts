import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { Recorder } from '../../../src/acp/recording/recorder';
import { readRecording } from '../../../src/acp/recording/recording';
import { Skim } from '../../../src/rpc/long-line';
import { compiled } from '../../support/program';
import { newFolder } from '../../support/temp-folder';

const warnings: object[] = [];
const log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields: object) => void warnings.push(fields),
  error: () => undefined,
};
const about = { agent: 'claude', version: '1.2.3', log };
const noPauses = { pause: () => undefined, resume: () => undefined };

beforeEach(() => (warnings.length = 0));

describe('Recorder', () => {
  test('writes down each line with its side, after a head, for its owner alone', async () => {
    const file = join(newFolder(), 'r.ndjson');
    const recorder = new Recorder(file, about);

    recorder.fromEditor(Buffer.from('{"a":"é"}'));
    const child = recorder.child('/w');
    child.toAgent([Buffer.from('{"b":'), Buffer.from('1}\n')]);
    child.fromAgent(Buffer.from([0xff, 0x0d]), true, noPauses);
    child.ended();
    recorder.toEditor(Buffer.from('{"c":1}\n'));
    recorder.fromEditor({ skim: new Skim(), limitBytes: 1 });
    await recorder.end();

    const records = readFileSync(file, 'utf8').trimEnd().split('\n');
    const parsed = records.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(parsed[0]).toMatchObject({ recording: 1, cai: '1.2.3', agent: 'claude' });
    expect(parsed.slice(1).map(({ ms, ...rest }) => [typeof ms, rest])).toEqual([
      ['number', { side: 'from editor', line: '{"a":"é"}' }],
      ['number', { event: 'agent started', child: 1, workspace: '/w' }],
      ['number', { side: 'to agent', child: 1, line: '{"b":1}' }],
      ['number', { side: 'from agent', child: 1, base64: '/w0=' }],
      ['number', { event: 'agent ended', child: 1 }],
      ['number', { side: 'to editor', line: '{"c":1}' }],
      ['number', { side: 'from editor', overlong: true }],
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readRecording(readFileSync(file, 'utf8'), 'r')).toHaveLength(4);
  });

  test('leaves files that are there alone, takes the next free name, and tells the whole path', async () => {
    const folder = newFolder();
    const file = join(folder, 'r.x.ndjson');
    writeFileSync(file, 'mine');
    writeFileSync(join(folder, 'r.x-2.ndjson'), 'mine too');

    await new Recorder(relative(process.cwd(), file), about).end();

    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(readFileSync(join(folder, 'r.x-3.ndjson'), 'utf8')).toContain('"recording":1');
    expect(warnings).toEqual([{ file: join(folder, 'r.x-3.ndjson') }]);
  });

  test('makes no file beside a folder that is named in place of one', () => {
    const folder = newFolder();
    const named = join(folder, 'here');
    mkdirSync(named);
    symlinkSync(named, join(folder, 'link'));

    for (const name of ['here', 'here/', 'link'])
      expect(() => new Recorder(`${folder}/${name}`, about)).toThrow(
        /^--record: .* is a folder: name a file/,
      );

    expect(readdirSync(folder)).toEqual(['here', 'link']);
  });

  test('fails where no file can be made', () => {
    expect(() => new Recorder(join(newFolder(), 'none/r.ndjson'), about)).toThrow(
      /^--record: .*none\/r\.ndjson cannot be made: no such file or directory/,
    );
  });

  test('stops the reading of lines while too much waits for the disk, and loses none', async () => {
    const file = join(newFolder(), 'r.ndjson');
    const recorder = new Recorder(file, about);
    const child = recorder.child(undefined);
    const line = Buffer.alloc(1024 * 1024, 'x');
    const resumed = new Promise<void>((resolve) => {
      // Nothing is written before the event loop goes on.
      for (let count = 0; count < 20; count++)
        child.fromAgent(line, false, { pause: () => undefined, resume: () => resolve() });
    });

    expect(recorder.isFull).toBe(true);
    await resumed;
    expect(recorder.isFull).toBe(false);
    await recorder.end();

    expect(readRecording(readFileSync(file, 'utf8'), 'r')).toHaveLength(20);
  });

  test('ends with a record and a warning that say so when it is as long as it may be', async () => {
    const file = join(newFolder(), 'r.ndjson');
    const recorder = new Recorder(file, { ...about, maxBytes: 10_000 });
    warnings.length = 0;

    for (let count = 0; count < 20; count++) recorder.fromEditor(Buffer.alloc(1_000, 'x'));
    recorder.fromEditor(Buffer.from('{}'));
    await recorder.end();

    const written = readFileSync(file, 'utf8');
    expect(readRecording(written, 'r')).toHaveLength(9);
    expect(JSON.parse(written.trimEnd().split('\n').at(-1)!)).toEqual({
      ms: expect.any(Number) as number,
      event: 'recording ended: too long',
    });
    expect(warnings).toEqual([{ file, maxBytes: 10_000 }]);
    expect(recorder.isFull).toBe(false);
  });

  test('does not look at lines any more once it is as long as it may be', async () => {
    const recorder = new Recorder(join(newFolder(), 'r.ndjson'), { ...about, maxBytes: 10_000 });
    recorder.fromEditor(Buffer.alloc(10_000, 'x'));
    const line = Buffer.from('{"token":"hidden"}');
    const read = jest.spyOn(line, 'toString');

    recorder.fromEditor(line);
    await recorder.end();

    expect(read).not.toHaveBeenCalled();
  });

  test('has of a long line of an agent that is no message only the beginning, without secrets', async () => {
    const file = join(newFolder(), 'r.ndjson');
    const recorder = new Recorder(file, about);
    const child = recorder.child('/w');

    child.fromAgent(Buffer.alloc(4_097, 'é'), true, noPauses);
    child.fromAgent(Buffer.from(`${'x'.repeat(5_000)} "token":"hidden"`), true, noPauses);
    child.fromAgent(Buffer.alloc(4_096, 'x'), true, noPauses);
    child.fromAgent(Buffer.alloc(5_000, 'x'), false, noPauses);
    await recorder.end();

    const written = readFileSync(file, 'utf8');
    const records = written.trimEnd().split('\n').slice(2);
    expect(records.map((each) => JSON.parse(each) as unknown)).toMatchObject([
      { side: 'from agent', child: 1, begins: `${'é'.repeat(2_048)}\ufffd`, bytes: 4_097 },
      { begins: '<redacted>', redacted: true, bytes: 5_017 },
      { line: 'x'.repeat(4_096) },
      { line: 'x'.repeat(5_000) },
    ]);
    expect(readRecording(written, 'r')).toHaveLength(2);
  });

  test('ends with a warning when the disk takes no more, and holds nobody up', async () => {
    const file = join(newFolder(), 'r.ndjson');
    const script = compiled(`
      import { Recorder } from './src/acp/recording/recorder';
      const say = (event, fields) => process.stdout.write(event + ' ' + (fields?.reason ?? '') + '\\n');
      const log = { warn: (fields) => say('warn', fields) };
      const recorder = new Recorder(${JSON.stringify(file)}, { agent: 'a', version: '1', log });
      const line = Buffer.alloc(1024 * 1024, 'x');
      const record = (count) => {
        if (count === 0) return void recorder.end().then(() => say('ended'));
        recorder.fromEditor(line);
        if (recorder.isFull) recorder.whenRoom(() => record(count - 1));
        else setImmediate(() => record(count - 1));
      };
      record(40);
    `);
    // A limit for the size of a file stands for a disk that is full.
    const limited = spawn('sh', ['-c', 'ulimit -f 4000; exec "$0" "$1"', process.execPath, script]);

    expect(await text(limited.stdout)).toMatch(/^warn \nwarn file too large\nended \n$/);
    expect(readFileSync(file, 'utf8')).toContain('"side":"from editor"');
  });
});
