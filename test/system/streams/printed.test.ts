import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { LogFile } from '../../../src/system/log-file';
import { cai } from '../../support/cli';
import { newFolder } from '../../support/temp-folder';

describe('a pipe gets all that is printed, also more than it holds', () => {
  test.each([['cai'], ['cai-cursor']])('by %s', (name) => {
    const folder = newFolder();
    const rows = Array.from({ length: 3_000 }, (_, row) => `model-${row} - ${'x'.repeat(50)}`);
    const standIn = join(folder, 'cursor-agent');
    writeFileSync(standIn, `#!/bin/sh\ncat <<'END'\n${rows.join('\n')}\nEND\n`, { mode: 0o755 });
    const logs = join(folder, '.local/state/containai/logs');
    mkdirSync(logs, { recursive: true });
    const log = new LogFile(logs, { pid: 1, agent: 'mock', version: '1' }, () => false);
    for (const msg of rows)
      log.write(`${JSON.stringify({ level: 40, time: '2026-01-01T00:00:00Z', msg })}\n`);
    const args = name === 'cai' ? ['logs', '-n', '5000'] : ['models'];
    const words = [process.execPath, join(dirname(cai), name), ...args].map((word) => `'${word}'`).join(' ');
    const env = { PATH: process.env.PATH, HOME: folder, CURSOR_AGENT_EXECUTABLE: standIn };

    const printed = execFileSync('sh', ['-c', `${words} | cat`], { cwd: folder, env, encoding: 'utf8' });

    expect(printed.match(/x{50}/g)).toHaveLength(rows.length);
  });
});
