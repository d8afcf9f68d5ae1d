import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { userWith, type CliResult } from '../../support/cli';
import { runHere } from '../../support/cli-here';

let home: string;
let user: ReturnType<typeof userWith>;
beforeEach(() => {
  user = userWith('');
  home = user.env!.HOME!;
});

describe('the paths of programs', () => {
  /** Folders for PATH with links to this Node and to `cai`, as a package manager makes them. */
  const linked = (name: string): string => {
    const folder = join(home, name);
    mkdirSync(folder, { recursive: true });
    symlinkSync(process.execPath, join(folder, 'node'));
    symlinkSync(resolve('bin/cai'), join(folder, 'cai'));
    return folder;
  };
  const printed = async (...folders: string[]) => {
    const env = { ...user.env, PATH: folders.join(':') };
    return await runHere(['setup', 'jetbrains', '--print'], { ...user, env });
  };
  const words = ({ stdout }: CliResult) => {
    const [entry] = Object.values(
      (JSON.parse(stdout) as { agent_servers: Record<string, { command: string; args: string[] }> })
        .agent_servers,
    );
    return [entry!.command, ...entry!.args];
  };

  test('are those on PATH that lead to these programs, for updates move the programs', async () => {
    const other = join(home, 'other');
    mkdirSync(other);
    for (const name of ['node', 'cai']) writeFileSync(join(other, name), '', { mode: 0o755 });
    const shell = linked('run/fnm_multishells/1_2/bin');
    const folder = linked('bin');

    expect(words(await printed(other, shell, folder))).toEqual([
      ...[`${folder}/node`, `${folder}/cai`],
      ...['--acp', 'claude'],
    ]);
  });

  test('are these programs themselves where PATH has none', async () => {
    expect(words(await printed(home)).slice(0, 2)).toEqual([process.execPath, resolve('bin/cai')]);
  });

  test('are told where they name a version', async () => {
    const note = 'The paths name a version of Node or cai: after an update of it, run this again.';

    expect((await printed(linked(`versions/v${process.versions.node}/bin`))).stderr).toContain(note);
    expect((await printed(linked('bin'))).stderr).not.toContain(note);
  });
});
