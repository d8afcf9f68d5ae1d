import { Place, buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace } from './support';

const cai = new Cai();
const workspace = newWorkspace();
const sharing = new Cai('[agent]\ndata = "shared"\n');
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

  test('serves the same agent in other workspaces where the user wants that', async () => {
    const [one, other] = [new Place(sharing), new Place(sharing)];
    await one.prints(['sh', '-c', 'echo shared > ~/.claude/shared']);

    expect(await other.prints(['cat', '/home/agent/.claude/shared'])).toBe('shared');
  });

  test('is one for each workspace', async () => {
    const [one, other] = [new Place(cai), new Place(cai)];
    await one.prints(['sh', '-c', 'echo mine > ~/.claude/mine']);

    expect((await other.run(['cat', '/home/agent/.claude/mine'])).status).toBe(1);
    expect(await one.prints(['cat', '/home/agent/.claude/mine'])).toBe('mine');
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
