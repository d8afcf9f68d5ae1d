import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace, ownFolder } from './support';

const cai = new Cai();
const workspace = newWorkspace();
const claude = new Place(cai, workspace, ['--agent', 'claude']);
const gemini = new Place(cai, workspace, ['--agent', 'gemini']);

beforeAll(async () => {
  await claude.opened();
  await gemini.opened();
}, 2 * buildTimeoutMs);

const idOf = async (place: Place): Promise<string> => await place.prints(['hostname']);

describe("an agent's data volume", () => {
  test('keeps what the agents keep, whatever becomes of the container', async () => {
    const files =
      '$CLAUDE_CONFIG_DIR/.credentials.json ~/.gemini/oauth ~/.codex/auth.json ~/.config/x/y ~/.local/share/z';
    await claude.prints(['sh', '-c', `for each in ${files}; do mkdir -p "$(dirname $each)"; echo $each > $each; done; echo 1 > ~/own`]); // prettier-ignore
    const before = await claude.prints(['sh', '-c', `cat ${files}`]);
    const first = await idOf(claude);

    await docker('rm', '--force', first);

    expect(await claude.prints(['sh', '-c', `cat ${files}`])).toBe(before);
    expect(before.split('\n')).toHaveLength(5);
    expect(await idOf(claude)).not.toBe(first);
    // Only these folders are kept, so that a container made anew is as new.
    expect((await claude.run(['cat', '/home/agent/own'])).status).toBe(1);
  });
});

describe('a folder in container.own', () => {
  const apart = new Cai('[container]\nown = ["node_modules", "packages/app/.venv"]\n');
  const place = new Place(apart);

  test('is a volume inside, which lasts, and a folder of this machine outside', async () => {
    const folders = ['node_modules', 'packages/app/.venv'];
    ownFolder(join(place.workspace, 'node_modules'));
    writeFileSync(join(place.workspace, 'node_modules/outside'), '');

    await place.prints(['sh', '-c', `for each in ${folders.join(' ')}; do test -z "$(ls -A $each)" && touch $each/inside; done`]); // prettier-ignore

    expect(readdirSync(join(place.workspace, 'node_modules'))).toEqual(['outside']);
    expect(readdirSync(join(place.workspace, 'packages/app/.venv'))).toEqual([]);
    expect(statSync(join(place.workspace, 'packages/app/.venv')).uid).toBe(statSync(place.workspace).uid);
    const gemini = new Place(apart, place.workspace, ['--agent', 'gemini']);
    expect(await gemini.prints(['ls', ...folders])).toBe(
      'node_modules:\ninside\n\npackages/app/.venv:\ninside',
    );
    expect(await place.prints(['ls', 'node_modules'], { options: ['--fresh'] })).toBe('inside');
  });

  test('goes with its workspace, and stays otherwise', async () => {
    const left = async (): Promise<string[]> =>
      (await docker('volume', 'ls', '--quiet', '--filter', `label=containai.workspace=${place.workspace}`))
        .split('\n')
        .filter((name) => name.endsWith('-own'));
    const remove = ['rm', '--workspace', place.workspace, '--force'];
    expect((await apart.run(remove)).stderr).toMatch(
      /a folder of the workspace stays in the volume cai-\S+-own\n/,
    );
    expect(await left()).toHaveLength(2);

    expect((await apart.run([...remove, '--volumes'])).status).toBe(0);

    expect(await left()).toEqual([]);
    expect(readdirSync(join(place.workspace, 'node_modules'))).toEqual(['outside']);
  });

  test('is nothing that a link leads to', async () => {
    const linked = new Place(apart);
    symlinkSync('/run/cai', join(linked.workspace, 'node_modules'));

    expect(await linked.run(['true'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('"container.own" names "node_modules"') as string,
    });
  });
});

describe('two agents in one folder', () => {
  test('have a container and a volume each, and the same files', async () => {
    await claude.prints(['sh', '-c', 'echo claude > file; echo claude > ~/.config/whose']);
    await gemini.prints(['sh', '-c', 'echo gemini >> file; echo gemini > ~/.config/whose']);

    expect(await idOf(gemini)).not.toBe(await idOf(claude));
    expect(await claude.prints(['cat', 'file', '/home/agent/.config/whose'])).toBe('claude\ngemini\nclaude');
    expect(await gemini.prints(['cat', 'file', '/home/agent/.config/whose'])).toBe('claude\ngemini\ngemini');
    expect(await claude.containers()).toHaveLength(2);
  });

  test('have the image of each', async () => {
    expect(
      await gemini.prints(['sh', '-c', 'command -v gemini; command -v claude-agent-acp || echo none']),
    ).toMatch(/\/gemini\nnone$/);
    expect(
      await claude.prints(['sh', '-c', 'command -v claude-agent-acp; command -v gemini || echo none']),
    ).toMatch(/\/claude-agent-acp\nnone$/);
  });
});
