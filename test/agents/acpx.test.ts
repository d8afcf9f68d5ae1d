import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { patienceMs } from '../support/patience';
import { isDirect, Stage } from './stage';
import { agentAnswers, agentParams } from './transcript';

jest.setTimeout(3 * patienceMs);

const way = isDirect ? 'started by acpx itself' : 'behind cai --acp';
const prompt = '[[read note.txt]] [[write note.txt written by the agent]] [[shell touch made-by-shell]]';

describe(`gemini ${way}, driven by acpx`, () => {
  let stage: Stage;
  let workspace: string;

  beforeEach(async () => {
    stage = await Stage.open('gemini');
    workspace = stage.addWorkspace('app');
  });
  afterEach(() => stage.close());

  it('reads and writes through the editor, asks permission, and the effects are on disk', async () => {
    await stage.acpx(workspace, 'exec', prompt).succeeds();

    const [transcript = []] = stage.transcripts();
    const [initialized] = agentAnswers(transcript, 'initialize');
    expect(initialized?.result).toMatchObject({ protocolVersion: 1, agentInfo: { name: 'gemini-cli' } });
    expect(agentAnswers(transcript, 'session/prompt')).toMatchObject([
      { result: { stopReason: 'end_turn' } },
    ]);
    const note = join(workspace, 'note.txt');
    expect(agentParams(transcript, 'fs/read_text_file')[0]).toMatchObject({ path: note });
    expect(agentParams(transcript, 'fs/write_text_file')).toMatchObject([{ path: note }]);
    expect(agentParams(transcript, 'session/request_permission')).toMatchObject([
      { toolCall: { content: [{ type: 'diff', path: note, oldText: 'on disk in app\n' }] } },
      { toolCall: { title: 'touch made-by-shell' } },
    ]);
    expect(readFileSync(note, 'utf8')).toBe('written by the agent\n');
    expect(readFileSync(join(workspace, 'made-by-shell'), 'utf8')).toBe('');
  });

  it('ends a running turn as cancelled when acpx is interrupted', () => endsCancelled(stage, workspace));
});

describe(`claude ${way}, driven by acpx`, () => {
  let stage: Stage;
  let workspace: string;

  beforeEach(async () => {
    stage = await Stage.open('claude');
    workspace = stage.addWorkspace('app');
  });
  afterEach(() => stage.close());

  it('calls its tools, asks permission, and the effects are on disk', async () => {
    await stage.acpx(workspace, 'exec', prompt).succeeds();

    const [transcript = []] = stage.transcripts();
    const [initialized] = agentAnswers(transcript, 'initialize');
    expect(initialized?.result).toMatchObject({ protocolVersion: 1, agentInfo: { title: 'Claude Agent' } });
    expect(agentAnswers(transcript, 'session/prompt')).toMatchObject([
      { result: { stopReason: 'end_turn' } },
    ]);
    expect(agentParams(transcript, 'session/request_permission')).toMatchObject([
      { toolCall: { name: 'Write', locations: [{ path: join(workspace, 'note.txt') }] } },
      { toolCall: { name: 'Bash', title: 'touch made-by-shell' } },
    ]);
    expect(readFileSync(join(workspace, 'note.txt'), 'utf8')).toBe('written by the agent\n');
    expect(readFileSync(join(workspace, 'made-by-shell'), 'utf8')).toBe('');
  });

  it('ends a running turn as cancelled when acpx is interrupted', () => endsCancelled(stage, workspace));

  it('resumes its session by the same id on a new connection', async () => {
    const session = ['--ttl', '1', 'prompt', '--session', 'kept'];
    await stage.acpx(workspace, 'sessions', 'new', '--name', 'kept').succeeds();
    await stage.acpx(workspace, ...session, 'one').succeeds();
    await stage.isQuiet();

    await stage.acpx(workspace, ...session, 'two').succeeds();
    await stage.isQuiet();

    // The agent keeps a session from its first prompt on, so the connection of `sessions new` does not count.
    const [, first = [], second = []] = stage.transcripts();
    const [opened] = agentAnswers(first, 'session/new');
    expect(agentAnswers(second, 'session/resume')).toMatchObject([{ result: {} }]);
    expect(agentAnswers(second, 'session/prompt')).toMatchObject([{ result: { stopReason: 'end_turn' } }]);
    const updated = new Set(agentParams(second, 'session/update').map(({ sessionId }) => sessionId));
    expect([...updated]).toEqual([opened?.result?.sessionId]);
  });
});

describe(`cursor ${way}, driven by acpx`, () => {
  it('has tools and text, and goes on in its chat on a new connection', async () => {
    const stage = await Stage.open('cursor');
    const workspace = stage.addWorkspace('app');
    const session = ['--ttl', '1', 'prompt', '--session', 'kept'];

    await stage.acpx(workspace, 'sessions', 'new', '--name', 'kept').succeeds();
    await stage.acpx(workspace, ...session, 'play tools').succeeds();
    await stage.isQuiet();
    const { lines } = await stage.acpx(workspace, ...session, 'more').succeeds();
    await stage.isQuiet();

    const updates = stage.transcripts().flatMap((each) => agentParams(each, 'session/update'));
    expect(updates).toContainEqual(
      expect.objectContaining({ update: expect.objectContaining({ title: 'npm test' }) as object }),
    );
    expect(lines.join('')).toContain('Prompt 2 of this chat.');
    await stage.close();
  });
});

/** A turn without end is interrupted once it has begun. */
async function endsCancelled(stage: Stage, workspace: string): Promise<void> {
  const acpx = stage.acpx(workspace, 'exec', '[[slow]]');
  await acpx.sees('the first words of the turn', (line) => line.includes('agent_message_chunk'));
  const during = stage.running();
  acpx.signal('SIGINT');
  await acpx.succeeds();

  // The agent is among what the search for leftovers finds, and the proxy only where it should be.
  expect(during).toContainEqual(expect.stringMatching(/node_modules.*(gemini|claude)/));
  expect(during.some((command) => command.includes('bin/cai'))).toBe(!isDirect);
  const [transcript = []] = stage.transcripts();
  expect(agentAnswers(transcript, 'session/prompt')).toMatchObject([{ result: { stopReason: 'cancelled' } }]);
}
