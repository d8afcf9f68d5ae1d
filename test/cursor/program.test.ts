import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from '../../src/cursor/program';
import { newFolder } from '../support/temp-folder';

describe('a run that leaves a program in the background', () => {
  const folder = newFolder();
  const leaves = join(folder, 'leaves');
  writeFileSync(leaves, `#!/bin/sh\nsleep 1000 &\necho $! >'${folder}/pid'\necho words >&2\nexit 3\n`, {
    mode: 0o755,
  });
  const pid = (): number => Number(readFileSync(join(folder, 'pid'), 'utf8'));
  afterEach(() => process.kill(pid()));

  test('ends although that holds its stderr, and that program runs on', async () => {
    const run = new Program(leaves, process.env, folder).start([], folder, '');

    expect(await run.ended).toEqual({ status: 3, words: 'words' });

    await run.stop();
    expect(process.kill(pid(), 0)).toBe(true);
  });
});
