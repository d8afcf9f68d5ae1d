/**
 * The flow. `fromEditor` takes each line of the editor, `#hear` each of an agent, and both pass it on in the same turn of the
 * event loop, to where the tables of `rpc/protocol/` say. What a method needs beyond that is in `acp/calls/` and beside this.
 */
import { wantedIn } from '../rpc/json';
import type { OverlongLine } from '../rpc/long-line';
import type { Message } from '../rpc/message';
import { Scanner } from '../rpc/scanner';
import { settingsObserver } from './sessions/observer';
import type { Child } from './child/child';
import { AgentRequests } from './agent-requests';
import { FileRequests } from './file-requests';
import type { AgentEvent } from './child/child-event';
import { Children } from './child/children';
import { Core } from './relay/core';
import type { Call } from './sessions/editor-call';
import { CursorRequests } from './cursor/requests';
import { Questions } from './observers/questions';
import { Defects, messageWithin, repairedError } from './defects';
import { EditorCalls } from './calls/editor-calls';
import { agentRow, editorRow } from '../rpc/protocol/method-rows';
import { isTooLong } from '../rpc/protocol/refusals';
import { Greeting } from './calls/greeting';
import { McpMessages } from './mcp/mcp-messages';
import { McpServers } from './mcp/mcp-servers';
import { SessionMemory } from './sessions/session-memory';
import type { ProxyOptions } from './proxy-options';
import { endAll, proxyEnding } from './shutdown';
import { Terminals } from './terminals';

/** One editor connection. */
export class Proxy {
  readonly #core: Core;
  readonly #children: Children;
  readonly #calls: EditorCalls;
  readonly #mcp: McpServers;
  readonly #agentRequests: AgentRequests;
  readonly #terminals: Terminals;
  readonly #questions: Questions;
  readonly #defects: Defects;
  readonly #editorScanner: Scanner;
  readonly #greeting: Greeting;
  #hasEnded = false;

  constructor(private readonly options: ProxyOptions) {
    const { config, writer, log, sessions, signIn } = options;
    const core = new Core({
      ...{ sessions, log, signIn },
      queueBytes: config.acp.queueToAgentBytes,
      lane: writer.lane(() => options.onRoom()),
      serve: (call) => this.#calls.serve(call),
    });
    this.#core = core;
    this.#mcp = new McpServers(options);
    this.#questions = new Questions(core, {
      allowAlways: options.allowAlways,
      isNamed: (root, place) => this.#mcp.isNamed(root, place),
    });
    this.#children = new Children(core, options, (child, event) => this.#hear(child, event));
    this.#terminals = new Terminals(core, options);
    const cursor = new CursorRequests(core);
    const mcpMessages = new McpMessages(core, this.#children);
    const files = options.hasFiles ? new FileRequests(core, config.acp.maxLineFromEditorBytes) : undefined;
    const services = { mcp: mcpMessages, terminals: this.#terminals, cursor, files };
    this.#agentRequests = new AgentRequests(core, this.#children, services);
    core.observers.push(
      new SessionMemory(core.sessions),
      ...options.observers(core),
      this.#terminals,
      cursor,
      this.#mcp,
      // Behind `#mcp`, which has forgotten the session's servers by then.
      this.#questions,
      settingsObserver,
    );
    this.#calls = new EditorCalls(core, this.#children, this.#mcp, mcpMessages, options);
    this.#greeting = new Greeting(core, this.#children, options);
    this.#defects = new Defects(core, this.#terminals);
    this.#editorScanner = new Scanner({
      params: (method) => wantedIn(editorRow(method).params),
      result: (id) => {
        const request = this.#core.requests.ofAgents.find(id);
        return request && wantedIn(agentRow(request.method).result);
      },
      error: undefined,
      isRefused: isTooLong,
    });
  }

  /**
   * True: `initialize` is being answered, or the editor does not read its answers, and `onRoom` will be called
   * once that is over. Stop reading the editor.
   */
  stopIfBusy(): boolean {
    return this.#greeting.isUnderWay || this.#core.lane.stopIfFull();
  }

  fromEditor(line: Buffer | OverlongLine): void {
    if (!Buffer.isBuffer(line)) {
      this.#defects.overlongFromEditor(line);
      return;
    }
    const message = this.#editorScanner.scan(line);
    this.options.log.debug({ id: message.id, method: message.method }, 'from editor');
    if (message.kind === 'request' || message.kind === 'notification') this.#call(message);
    else if (message.kind === 'response') this.#agentRequests.answer(message);
    else this.#defects.fromEditor(message);
  }

  /** What a child has for the editor. If serving a line fails, only that agent is ended. */
  #hear(child: Child, event: AgentEvent): void {
    switch (event.kind) {
      case 'line':
        try {
          this.#fromAgent(child, event.line);
        } catch (reason) {
          this.#defects.unservedFromAgent(child, reason);
        }
        break;
      case 'lines':
        event.take(this.#core.agentLines.passChunks(child, event.pieces));
        break;
      case 'asks':
        void this.#questions.ask(child, event.place).then(event.answer);
        break;
      case 'end':
        this.#agentRequests.forget(child);
        break;
    }
  }

  #fromAgent(child: Child, line: Buffer | OverlongLine): void {
    const { records } = child;
    if (!Buffer.isBuffer(line)) {
      records?.fromAgent(line, false, child);
      this.#defects.overlongFromAgent(child, line);
      return;
    }
    let message = child.scanner.scan(line);
    records?.fromAgent(line, message.kind === 'defect', child);
    const within = message.defect === 'json' ? messageWithin(line) : undefined;
    if (within !== undefined) message = child.scanner.scan(within);
    if (message.kind === 'request' || message.kind === 'notification')
      this.#agentRequests.serve(child, message);
    else if (message.kind === 'response') this.#answerOfAgent(child, message);
    else this.#defects.fromAgent(child, message);
  }

  /**
   * The editor is gone: everything open is ended; resolves when no agent is left. `hurry` and `goneAt` as of `endAll`.
   * Requests that are taken afterwards are refused.
   */
  async end(hurry: Promise<void>, goneAt: number): Promise<void> {
    await endAll(this.#core, this.#children, hurry, goneAt);
    this.#hasEnded = true;
    await Promise.all(this.#core.observers.flatMap((observer) => observer.end?.() ?? []));
  }

  #call(message: Message): void {
    const { id, method } = message;
    if (id !== undefined && this.#core.requests.isFull) {
      this.#defects.refuse(id, 'too many requests are open');
      return;
    }
    const request = id === undefined ? undefined : this.#core.requests.begin(id);
    if (id !== undefined && request === undefined) {
      this.#defects.refuse(id, 'a request with this id is still open');
      return;
    }
    const call: Call = { message, row: editorRow(method), request };
    if (this.#hasEnded) this.#core.fail(call, proxyEnding());
    else if (call.row.route === 'initialize') {
      this.#greeting.serve(call);
    } else if (this.#core.initializeResult !== undefined) {
      this.#calls.serve(call);
    } else if (request !== undefined) {
      this.#core.requests.finish(request);
      this.#defects.refuse(request.id, 'initialize must come first');
    }
  }

  /** An agent's answer to a request of the editor or of ours. */
  #answerOfAgent(child: Child, answer: Message): void {
    const repaired = answer.isError ? repairedError(answer) : undefined;
    const message = repaired === undefined ? answer : child.scanner.scan(repaired);
    if (!child.requests.settle(message.id!, message))
      this.options.log.info({ id: message.id }, 'an answer that nobody waits for');
    this.#children.stopWhenIdle(child);
  }
}
