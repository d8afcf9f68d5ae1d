/**
 * Tells the user afterwards why the first session with an agent took long: before that, there is no thread to tell it
 * in.
 */
import type { Core } from '../relay/core';
import { tellInThread } from '../relay/thread';
import type { SessionObserver } from '../sessions/observer';
import type { AgentSession } from '../sessions/session';

/** Follows the sessions of one proxy. */
export class DelayObserver implements SessionObserver {
  constructor(private readonly core: Pick<Core, 'isEditorGone' | 'editorCapabilities'>) {}

  /** The note follows the answer that opens the session. */
  onOpen(session: AgentSession): void {
    const { child } = session;
    if (child.delay === undefined) return;
    const { what, beganAt, tookMs = Date.now() - beganAt } = child.delay;
    child.delay = undefined;
    const note = {
      title: `The agent started ${Math.round(tookMs / 1_000)} s late.`,
      description: `This came first: ${what}.`,
    };
    setImmediate(() => tellInThread(this.core, session, note));
  }
}
