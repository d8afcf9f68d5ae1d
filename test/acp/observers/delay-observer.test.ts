import { DelayObserver } from '../../../src/acp/observers/delay-observer';
import type { Child } from '../../../src/acp/child/child';
import { newTable, openSession } from '../../support/sessions';

/** A session whose agent started that late, and what its editor is told. */
function opened(delay?: { what: string; beganAt: number; tookMs: number }) {
  const told: string[] = [];
  const child = { deliver: (line: Buffer) => told.push(line.toString()) } as unknown as Child;
  const session = openSession(newTable(), child, 'e', 'a');
  child.delay = delay;
  return { session, told };
}

describe('DelayObserver', () => {
  const observer = new DelayObserver({ isEditorGone: false, editorCapabilities: {} });

  test('tells in the first session, behind its answer, why it came late; once', async () => {
    const { session, told } = opened({ what: 'building containai:claude', beganAt: 0, tookMs: 31_200 });

    observer.onOpen(session);
    expect(told).toEqual([]);
    observer.onOpen(session);
    await new Promise(setImmediate);

    expect(told).toHaveLength(1);
    expect(told[0]).toContain('"sessionId":"e"');
    expect(told[0]).toContain('The agent started 31 s late.');
    expect(told[0]).toContain('building containai:claude.');
  });

  test('says nothing where nothing was late', async () => {
    const { session, told } = opened();

    observer.onOpen(session);
    await new Promise(setImmediate);

    expect(told).toEqual([]);
  });
});
