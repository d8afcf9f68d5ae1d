/**
 * Files that agents ask the editor for, `fs/*`. The editor opens by name what we have checked by name: what could put
 * something else there in between stands still until the editor has answered.
 */
import type { StatusLink } from '../agent/status';
import { CaiError, rpcCode } from '../errors';
import { notificationLine, rpcErrorOf } from '../rpc/answer';
import type { RpcError } from '../rpc/answer';
import { fieldOf, textOf } from '../rpc/message';
import type { Message } from '../rpc/message';
import { replacing } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import type { WorkspaceChild } from '../child/workspace-child';
import { confine } from '../paths/confine';
import type { AgentCall } from '../relay/call';
import type { Core } from '../relay/core';
import { methodNotFound, offers } from '../protocol/refusals';
import { within } from '../system/time-limit';

/** How long an agent may wait for one file, and nothing in its container go on, in milliseconds. */
const limitMs = 5_000;
/** How long it may then take until everything goes on, in milliseconds. */
const thawMs = 2_000;

/** Passes a request on to the editor; returns its id there, `undefined` if it is answered already. */
type Pass = (call: AgentCall, edits: readonly Edit[], onOver: () => void) => string | undefined;

/** Serves `fs/*`. */
export class FileRequests {
  /** Agents for which the editor was late to write: it may do so when they run. What it reads late, nobody gets. */
  readonly #late = new WeakSet<WorkspaceChild>();

  /** `maxBytes`: of a file. */
  constructor(
    private readonly core: Core,
    private readonly maxBytes: number,
    private readonly pass: Pass,
  ) {}

  /**
   * Only what the editor offers, only inside the session's roots. The agent is not read on meanwhile, so that its
   * messages keep their order.
   */
  serve(call: AgentCall): void {
    const { child, message, row, session } = call;
    if (child.files === 'off' || !offers(this.core.editorCapabilities, row.capability!)) {
      this.core.refuse(child, message, methodNotFound(message.method));
    } else if (session === undefined || fieldOf(message, 'path')?.isString !== true) {
      const text = `${message.method}: an open session and a path are needed`;
      this.core.refuse(child, message, { code: rpcCode.invalidParams, message: text });
    } else if (this.#late.has(child)) {
      this.core.refuse(child, message, off(message, 'the editor has not written one in time'));
    } else {
      child.pause();
      void this.#serve(call).finally(() => child.resume());
    }
  }

  async #serve(call: AgentCall): Promise<void> {
    const { child, message } = call;
    const { link } = child;
    const deadline = performance.now() + limitMs;
    try {
      // Without a link nothing is isolated: the agent can open any file itself.
      const failure = link === undefined ? undefined : await freeze(link, deadline);
      if (failure === undefined) await this.#ask(call, deadline);
      else this.#refuse(call, off(message, failure));
    } catch (error) {
      if (error instanceof CaiError && error.code === 'REPLACED')
        this.core.log.warn({ root: child.root }, 'a folder of a session was replaced');
      this.#refuse(call, rpcErrorOf(error));
    } finally {
      if (link !== undefined) await this.#thaw(child, link);
    }
  }

  /** Passes the request on if the file may be had; with a link, resolves when that is over. */
  async #ask(call: AgentCall, deadline: number): Promise<void> {
    const { child, message } = call;
    const path = fieldOf(message, 'path')!;
    let session = call.session!;
    for (;;) {
      const asked = session.map.toEditor(textOf(message, path));
      const looking = confine(asked, session.roots, howOf(message), this.maxBytes);
      const real = await within(deadline - performance.now(), looking);
      if (real === undefined)
        throw new CaiError('OUTSIDE', `the path could not be looked up in ${limitMs / 1_000} s`);
      // Meanwhile the session may have been closed, or opened anew with other roots.
      const now = this.core.sessions.of(child).byAgentId.get(session.agentId);
      if (now === undefined) {
        this.#refuse(call, { code: rpcCode.resourceNotFound, message: 'Session not found' });
        return;
      }
      if (now === session) {
        const edits = [replacing(path, JSON.stringify(real))];
        await this.#pass({ ...call, session, message: withoutField(message, path) }, edits, deadline);
        return;
      }
      session = now;
    }
  }

  async #pass(call: AgentCall, edits: readonly Edit[], deadline: number): Promise<void> {
    const { child, message } = call;
    let id: string | undefined;
    const over = new Promise<true>((resolve) => (id = this.pass(call, edits, () => resolve(true))));
    if (id === undefined || child.link === undefined) return;
    if ((await within(deadline - performance.now(), over)) === true) return;
    if (howOf(message) === 'write') this.#late.add(child);
    if (this.core.requests.take(id) === undefined) return;
    child.deliver(notificationLine('$/cancel_request', `{"requestId":${id}}`));
    const text = `${message.method}: the editor has not answered in ${limitMs / 1_000} s`;
    this.#refuse(call, { code: rpcCode.internalError, message: text });
  }

  async #thaw(child: WorkspaceChild, link: StatusLink): Promise<void> {
    const answer = await link.ask('thaw', thawMs);
    if (answer !== undefined && answer.error === undefined) return;
    const reason = answer?.error ?? 'no answer';
    this.core.log.warn({ root: child.root, reason }, 'the container could not be set going again');
  }

  #refuse({ child, message }: AgentCall, error: RpcError): void {
    const { method } = message;
    this.core.log.warn({ method, root: child.root, code: error.code }, 'refused to an agent');
    this.core.refuse(child, message, error);
  }
}

/** Why not everything stands still; undefined: it does. */
async function freeze(link: StatusLink, deadline: number): Promise<string | undefined> {
  const answer = await link.ask('freeze', deadline - performance.now());
  return answer === undefined ? 'what could change them cannot be stopped meanwhile' : answer.error;
}

/** Files are not to be had, as if the editor did not offer them. */
function off({ method }: Message, reason: string): RpcError {
  const text = `${method} is off, use the files on the disk: ${reason}`;
  return { code: rpcCode.methodNotFound, message: text, data: { method } };
}

function howOf({ method }: Message): 'read' | 'write' {
  return method === 'fs/read_text_file' ? 'read' : 'write';
}

/** The message without a field that is rewritten by hand. */
function withoutField(message: Message, field: unknown): Message {
  return { ...message, fields: message.fields.filter((each) => each !== field) };
}
