import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programIdentity } from '../../../src/system/paths/program-identity';
import { newFolder } from '../../support/temp-folder';

describe('programIdentity', () => {
  let folder: string;
  let program: string;
  beforeEach(() => {
    folder = newFolder();
    program = file('agent', 'one');
  });

  test('is the same for the same program', () => {
    expect(programIdentity([program], undefined)).toBe(programIdentity([program], undefined));
  });

  test('is that of the program that PATH leads to, whatever else has its name', () => {
    mkdirSync(join(folder, 'first/agent'), { recursive: true });
    const path = ['relative', join(folder, 'first'), folder].join(':');

    expect(programIdentity(['agent'], path)).toBe(programIdentity([program], undefined));
    expect(programIdentity(['agent'], 'relative')).not.toBe(programIdentity([program], undefined));
  });

  test.each<[string, () => void]>([
    ['has another size', () => writeFileSync(program, 'longer')],
    ['was written again', () => utimesSync(program, 1, 1)],
    ['is gone', () => rmSync(program)],
  ])('changes when the program %s', (_, change) => {
    const before = programIdentity([program], undefined);

    change();

    expect(programIdentity([program], undefined)).not.toBe(before);
  });

  test('changes when a link leads to another version', () => {
    const link = join(folder, 'link');
    symlinkSync(program, link);
    const before = programIdentity([link], undefined);
    const other = file('agent-2', 'two');
    utimesSync(program, 1, 1);
    utimesSync(other, 1, 1);

    rmSync(link);
    symlinkSync(other, link);

    expect(programIdentity([link], undefined)).not.toBe(before);
  });

  test('changes with a file that an argument names', () => {
    const command = [process.execPath, program, '--acp'] as const;
    const before = programIdentity([...command], undefined);

    writeFileSync(program, 'longer');

    expect(programIdentity([...command], undefined)).not.toBe(before);
  });

  function file(name: string, content: string): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, 0o755);
    return path;
  }
});
