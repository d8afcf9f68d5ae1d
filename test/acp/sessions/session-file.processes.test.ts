import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionFile } from '../../../src/acp/sessions/session-file';
import { noLog } from '../../agent/agent-run';
import { compiled, run } from '../../support/program';
import { newFolder } from '../../support/temp-folder';

const folder = newFolder();
let path: string;
let count = 0;
const logPath = join(folder, 'log');

beforeEach(() => (path = join(folder, `${++count}.ndjson`)));

describe('several processes at once', () => {
  /** Adds records of its own and renews one that all share, and looks at the file as it goes. */
  const script = compiled(`
    import { openLog } from './src/system/log';
    import { SessionFile } from './src/acp/sessions/session-file';
    const [name, path] = process.argv.slice(2);
    const file = new SessionFile(path, Infinity, openLog(process.env));
    const record = (id, cwd) => ({ id, agent: 'a', agentId: id, root: '/', cwd, at: '' });
    process.stdin.once('data', async () => {
      for (let i = 0; i < 600; i++) {
        file.append(record('shared', name + i));
        if (i % 3 === 0) file.append(record(name + i, '/'));
        await undefined;
        if (i % 7 === 0) file.load();
      }
      process.stdin.destroy();
    });
    process.stdout.write('ready');
  `);

  test('lose nothing, though they compact the file meanwhile', async () => {
    const names = ['one-', 'two-', 'three-'];
    const programs = names.map((name) => run(script, [name, path], { CAI_LOG_FILE: logPath }));
    await Promise.all(programs.map((program) => once(program.stdout, 'data')));

    for (const program of programs) program.stdin.write('go');
    await Promise.all(programs.map((program) => once(program, 'exit')));

    const wanted = names.flatMap((name) => Array.from({ length: 200 }, (_, i) => `${name}${3 * i}`));
    const ids = [...new SessionFile(path, Infinity, noLog).load()!.keys()];
    expect(wanted.filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids).toHaveLength(wanted.length + 1);
    // 2,400 lines were written.
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(2_000);
    expect(existsSync(logPath) ? readFileSync(logPath, 'utf8') : '').toBe('');
  });

  /** Renames sessions of its own, each many times, as two editors do that share the file. */
  const renamer = compiled(`
    import { openLog } from './src/system/log';
    import { SessionFile } from './src/acp/sessions/session-file';
    import { SessionRecords } from './src/acp/sessions/session-records';
    const [name, path] = process.argv.slice(2);
    const table = new SessionRecords({ agent: 'a', file: new SessionFile(path, Infinity, openLog(process.env)), isAllowed: () => true }, () => false);
    process.stdin.once('data', async () => {
      const ids = Array.from({ length: 20 }, (_, i) => table.idForNew(name + i, '/w', '/w'));
      for (let round = 0; round < 40; round++) {
        for (const [i, id] of ids.entries()) {
          table.refresh();
          table.update(id, { title: name + i + ' ' + round });
          await undefined;
        }
      }
      for (const id of ids.slice(10)) table.forget(id);
      process.stdin.destroy();
    });
    process.stdout.write('ready');
  `);

  test('keep the last title of each session, and none of those that are gone', async () => {
    const programs = ['one-', 'two-'].map((name) => run(renamer, [name, path], { CAI_LOG_FILE: logPath }));
    await Promise.all(programs.map((program) => once(program.stdout, 'data')));

    for (const program of programs) program.stdin.write('go');
    await Promise.all(programs.map((program) => once(program, 'exit')));

    const titles = [...new SessionFile(path, Infinity, noLog).load()!.values()].map(({ title }) => title);
    const wanted = ['one-', 'two-'].flatMap((name) => Array.from({ length: 10 }, (_, i) => `${name}${i} 39`));
    expect(titles.sort()).toEqual(wanted.sort());
    // 1,600 lines were written.
    expect(readFileSync(path, 'utf8').split('\n').length).toBeLessThan(1_100);
  });

  /** Gives ids to sessions that its agent counts, as the agent of another process counts its own. */
  const giver = compiled(`
    import { openLog } from './src/system/log';
    import { SessionFile } from './src/acp/sessions/session-file';
    import { SessionRecords } from './src/acp/sessions/session-records';
    const [path] = process.argv.slice(2);
    const table = new SessionRecords({ agent: 'a', file: new SessionFile(path, Infinity, openLog(process.env)), isAllowed: () => true }, () => false);
    process.stdin.once('data', () => {
      const ids = Array.from({ length: 300 }, (_, i) => table.idForNew(String(i), '/w', '/w'));
      process.stdout.write(JSON.stringify(ids));
      process.stdin.destroy();
    });
    process.stdout.write('ready');
  `);

  test('give no id to two sessions, though their agents count the same', async () => {
    const programs = [1, 2, 3].map(() => run(giver, [path], { CAI_LOG_FILE: logPath }));
    await Promise.all(programs.map((program) => once(program.stdout, 'data')));
    let text = '';
    for (const program of programs) program.stdout.on('data', (chunk) => (text += String(chunk)));

    for (const program of programs) program.stdin.write('go');
    await Promise.all(programs.map((program) => once(program, 'close')));

    const ids = text.match(/[0-9a-f-]{36}/g)!;
    expect(ids).toHaveLength(900);
    expect(new Set(ids).size).toBe(900);
  });

  /** Adds records of its own, and says so after every tenth. */
  const writer = compiled(`
    import { openLog } from './src/system/log';
    import { SessionFile } from './src/acp/sessions/session-file';
    const [path] = process.argv.slice(2);
    const file = new SessionFile(path, Infinity, openLog(process.env));
    const next = (i) => {
      file.append({ id: 'id ' + i, agent: 'a', agentId: 'a', root: '/', cwd: '/', at: '' });
      if (i % 10 === 9) process.stdout.write('.');
      if (i < 999) setImmediate(next, i + 1);
    };
    next(0);
  `);

  test('lose nothing that one writes while another puts a new file in place', async () => {
    const outdated = JSON.stringify({ id: 'shared', agent: 'a', agentId: 'a', root: '/', cwd: '/', at: '' });
    const program = run(writer, [path], { CAI_LOG_FILE: logPath });
    program.stdout.on('data', () => {
      // It stops anywhere, often between the opening of the file and the writing.
      program.kill('SIGSTOP');
      appendFileSync(path, `${outdated}\n`.repeat(3_000));
      new SessionFile(path, Infinity, noLog).load();
      program.kill('SIGCONT');
    });

    await once(program, 'close');

    const ids = new SessionFile(path, Infinity, noLog).load()!;
    expect(Array.from({ length: 1_000 }, (_, i) => `id ${i}`).filter((id) => !ids.has(id))).toEqual([]);
  });
});
