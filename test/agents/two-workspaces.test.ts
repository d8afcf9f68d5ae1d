import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { patienceMs } from '../support/patience';
import { isDirect, Stage, type AgentName } from './stage';

jest.setTimeout(3 * patienceMs);

/** What fixtures/clients/two-workspaces.mjs prints. */
interface Report {
  readonly stopReasons: Readonly<Record<string, string | readonly string[]>>;
  readonly agentStatus: number | string;
  readonly unknownSessions: readonly string[];
  readonly a: SessionReport;
  readonly b: SessionReport;
}

interface SessionReport {
  readonly sessionId: string;
  readonly permissions: readonly { readonly path: string }[];
  readonly reads: readonly string[];
  readonly text: string;
}

describe(`sessions in two workspaces on one SDK connection, ${isDirect ? 'direct' : 'behind cai --acp'}`, () => {
  let stage: Stage;
  let notes: { a: string; b: string };

  /** Runs the client's dialogue; see the head of its file. */
  async function talkTo(agent: AgentName): Promise<Report> {
    stage = await Stage.open(agent);
    const [a, b] = [stage.addWorkspace('a'), stage.addWorkspace('b')];
    notes = { a: join(a, 'note.txt'), b: join(b, 'note.txt') };
    const { lines } = await stage.sdkClient(a, b).succeeds();
    return JSON.parse(lines.join('')) as Report;
  }

  function expectNothingMixedUp({ a, b, stopReasons, unknownSessions, agentStatus }: Report): void {
    expect(stopReasons).toEqual({
      written: ['end_turn', 'end_turn'],
      meanwhile: 'end_turn',
      cancelled: 'cancelled',
      afterwards: 'end_turn',
    });
    expect({ unknownSessions, agentStatus }).toEqual({ unknownSessions: [], agentStatus: 0 });
    expect(a.sessionId).not.toBe(b.sessionId);
    expect(a.permissions).toMatchObject([{ path: notes.a, newText: 'from a\n' }]);
    expect(b.permissions).toMatchObject([{ path: notes.b, newText: 'from b\n' }]);
    expect(a.text).toMatch(/slow-1 .*Echo: afterwards$/s);
    expect(b.text).toMatch(/Echo: meanwhile$/);
    expect(readFileSync(notes.a, 'utf8')).toBe('from a\n');
    expect(readFileSync(notes.b, 'utf8')).toBe('from b\n');
  }

  afterEach(() => stage.close());

  it('gemini: turns overlap, and each session reads its own unsaved buffer through the editor', async () => {
    const report = await talkTo('gemini');

    expectNothingMixedUp(report);
    expect(report.a.permissions).toMatchObject([{ oldText: 'unsaved in a\n' }]);
    expect(report.b.permissions).toMatchObject([{ oldText: 'unsaved in b\n' }]);
    expect([new Set(report.a.reads), new Set(report.b.reads)]).toEqual([
      new Set([notes.a]),
      new Set([notes.b]),
    ]);
  });

  it('claude: turns overlap, and each session works in its own folder', async () => {
    expectNothingMixedUp(await talkTo('claude'));
  });
});
