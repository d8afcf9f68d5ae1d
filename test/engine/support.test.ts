import { existsSync, statSync } from 'node:fs';
import { Cai, docker, folder, newWorkspace, removeEverything, user } from './support';

describe('the user of the engine tests', () => {
  test('is who owns the workspaces and runs the programs', async () => {
    const workspace = newWorkspace();

    const { stdout } = await new Cai().startProgram('id', ['-u'], { cwd: workspace }).succeeds();

    expect(Number(stdout)).toBe(user.uid);
    expect(statSync(`${workspace}/.git`)).toMatchObject({ uid: user.uid, gid: user.gid });
  });

  test('has cai installed, and a configuration that it takes', async () => {
    const cai = new Cai('[agent]\ndefault = "gemini"\n');

    const { status, stderr } = await cai.run(['config']);

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(existsSync(cai.configFile)).toBe(true);
  });

  test('may use the engine', async () => {
    const { stdout } = await new Cai().startProgram('docker', ['version', '--format', '{{.Server.Version}}']).succeeds(); // prettier-ignore

    expect(stdout.toString().trim()).toBe(await docker('version', '--format', '{{.Server.Version}}'));
  });
});

describe('Running', () => {
  test('tells a wait that is hopeless from one that is over', async () => {
    const program = new Cai().startProgram('sh', ['-c', 'echo one; echo two >&2; read line; echo $line']);

    await program.says('one');
    await program.complains('two');
    program.child.stdin.end('three\n');

    await expect(program.says('four')).rejects.toThrow('ended with 0 and never said "four"');
    expect((await program.succeeds()).stdout.toString()).toBe('one\nthree\n');
    await expect(program.says('five', 1)).rejects.toThrow('never said "five"');
  });

  test('gives up on a program that goes on', async () => {
    const program = new Cai().startProgram('sleep', ['1000']);

    await expect(program.ends(10)).rejects.toThrow('sleep 1000: has not ended in 10 ms');
  });
});

describe('removeEverything', () => {
  test('removes what was made for these tests, and nothing else', async () => {
    const labels = (workspace: string, managed = 'true'): string[] => [
      '--label', `containai.managed=${managed}`,
      '--label', `containai.user=${user.uid}`,
      '--label', `containai.workspace=${workspace}`,
    ]; // prettier-ignore
    const create = async (workspace: string, managed?: string): Promise<string> =>
      await docker('create', ...labels(workspace, managed), 'node:22-bookworm-slim', 'true');
    const volume = await docker('volume', 'create', ...labels(''));
    const ours = [await create(`${folder}/one`), await create('')];
    const others = [await create('/elsewhere'), await create(`${folder}/two`, 'false')];

    await removeEverything();

    const left = (await docker('ps', '--all', '--quiet', '--no-trunc')).split('\n');
    await docker('rm', ...others);
    expect(left).toEqual(expect.arrayContaining(others));
    expect(left.filter((id) => ours.includes(id))).toEqual([]);
    expect(await docker('volume', 'ls', '--quiet', '--filter', `name=${volume}`)).toBe('');
  });
});
