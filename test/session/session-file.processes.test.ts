import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SessionFile } from '../../src/session/session-file';
import { noLog } from '../agent/agent-run';
import { compiled, run } from '../support/program';

const folder = mkdtempSync(join(tmpdir(), 'cai-files-'));
const path = join(folder, 'sessions.ndjson');
const logPath = join(folder, 'log');

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('several processes at once', () => {
  /** Adds records of its own and renews one that all share, and looks at the file as it goes. */
  const script = compiled(`
    import { openLog } from './src/log';
    import { SessionFile } from './src/session/session-file';
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
  }, 30_000);
});
