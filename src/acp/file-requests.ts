/**
 * Files that agents ask the editor for, `fs/*`. Only agents without a container get them: those can open every file of
 * the user anyway, so that the check below keeps them to their session's folders, but is no wall.
 */
import { CaiError, rpcCode } from '../errors';
import { rpcErrorOf, type RpcError } from '../rpc/answer';
import { fieldOf, textOf } from '../rpc/message';
import { replacing, type Edit } from '../rpc/splice';
import { confine } from '../system/paths/confine';
import type { AgentCall } from './relay/agent-call';
import type { Core } from './relay/core';
import { within } from '../system/time-limit';

/** How long the look at one path may take, in milliseconds. */
const limitMs = 5_000;

type Pass = (call: AgentCall, edits: readonly Edit[]) => void;

export class FileRequests {
  /** `maxBytes`: of the largest file that is served. */
  constructor(
    private readonly core: Core,
    private readonly maxBytes: number,
  ) {}

  /**
   * Serves what the editor offers, inside of the session's roots. Meanwhile the agent is not read, so that its messages
   * keep their order.
   */
  serve(call: AgentCall, pass: Pass): void {
    const { child, message, session } = call;
    if (session === undefined || fieldOf(message, 'path')?.isString !== true) {
      const text = `${message.method}: an open session and a path are needed`;
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
      return;
    }
    child.pause();
    void this.#serve(call, pass)
      .catch((error: unknown) => {
        if (error instanceof CaiError && error.code === 'REPLACED')
          this.core.log.warn({ root: child.root }, 'a folder of a session was replaced');
        this.#refuse(call, rpcErrorOf(error));
      })
      .finally(() => child.resume());
  }

  async #serve(call: AgentCall, pass: Pass): Promise<void> {
    const { child, message } = call;
    const path = fieldOf(message, 'path')!;
    let session = call.session!;
    for (;;) {
      const looking = confine(session.map.toEditor(textOf(message, path)), session.roots, this.maxBytes);
      const real = await within(limitMs, looking);
      if (real === undefined)
        throw new CaiError('OUTSIDE', `the path could not be looked up in ${limitMs / 1_000} s`);
      // Meanwhile the session may have been closed, or opened again with other roots.
      const now = this.core.sessions.of(child).byAgentId.get(session.agentId);
      if (now === undefined) {
        this.#refuse(call, { code: rpcCode.resourceNotFound, message: 'Session not found' });
        return;
      }
      if (now === session) {
        // Without the field, the path is not rewritten again.
        const fields = message.fields.filter((each) => each !== path);
        pass({ ...call, session, message: { ...message, fields } }, [replacing(path, JSON.stringify(real))]);
        return;
      }
      session = now;
    }
  }

  #refuse({ child, message }: AgentCall, error: RpcError): void {
    const { method } = message;
    this.core.log.warn({ method, root: child.root, code: error.code }, 'refused to an agent');
    this.core.refuse(child, message, error);
  }
}
