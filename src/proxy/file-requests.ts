/**
 * Files that agents ask the editor for, `fs/*`. We check a path, and the editor opens it by name a moment later. So
 * that nothing can put another file there in between, all containers are paused until the editor has answered.
 */
import type { StatusLink } from '../agent/status';
import { CaiError, rpcCode } from '../errors';
import { cancelLine, rpcErrorOf, type RpcError } from '../rpc/answer';
import { fieldOf, textOf, type Message } from '../rpc/message';
import { replacing, type Edit } from '../rpc/splice';
import type { WorkspaceChild } from '../child/workspace-child';
import { confine } from '../paths/confine';
import type { AgentCall } from '../relay/call';
import type { Core } from '../relay/core';
import { methodNotFound } from '../protocol/refusals';
import { within } from '../system/time-limit';

/** How long an agent may wait for one file, while the containers are paused, in milliseconds. */
const limitMs = 5_000;
/** How long it may take to resume the containers, in milliseconds. */
const thawMs = 2_000;

/** Passes a request on to the editor; returns its id there, or `undefined` if it was refused. */
type Pass = (call: AgentCall, edits: readonly Edit[], onOver: () => void) => string | undefined;

/** Serves `fs/*`. */
export class FileRequests {
  /** Agents for which the editor was late to write: it may write while they run. A late read has no effect. */
  readonly #late = new WeakSet<WorkspaceChild>();

  /** `maxBytes`: of the largest file that is served. */
  constructor(
    private readonly core: Core,
    private readonly maxBytes: number,
    private readonly pass: Pass,
  ) {}

  /**
   * Serves what the editor offers, inside of the session's roots. Meanwhile the agent is not read, so that its messages
   * keep their order.
   */
  serve(call: AgentCall): void {
    const { child, message, session } = call;
    if (child.files === 'off') {
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
      // An agent without a link runs on this machine, and can open any file itself.
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

  /** Passes the request on if the path is allowed. With a link, resolves when the editor has answered. */
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
      // Meanwhile the session may have been closed, or opened again with other roots.
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
    child.deliver(cancelLine(id));
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

/** Pauses all containers. Returns why that was not possible; undefined if it was. */
async function freeze(link: StatusLink, deadline: number): Promise<string | undefined> {
  const answer = await link.ask('freeze', deadline - performance.now());
  return answer === undefined ? 'what could change them cannot be stopped meanwhile' : answer.error;
}

/** The error that an agent also gets from an editor that offers no files, with the reason. */
function off({ method }: Message, reason: string): RpcError {
  const text = `${method} is off, use the files on the disk: ${reason}`;
  return { code: rpcCode.methodNotFound, message: text, data: { method } };
}

function howOf({ method }: Message): 'read' | 'write' {
  return method === 'fs/read_text_file' ? 'read' : 'write';
}

/** The message without a field, so that the field is not rewritten again. */
function withoutField(message: Message, field: unknown): Message {
  return { ...message, fields: message.fields.filter((each) => each !== field) };
}
