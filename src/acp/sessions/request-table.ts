/**
 * The open requests between the editor and the agents. A request is in the table from the moment it is read until its
 * one answer is queued. An answer to anything else is dropped.
 */
import type { Message } from '../../rpc/message';
import { OpenRequests } from '../../rpc/open-requests';
import type { Child } from '../child/child';
import { AgentRequestTable, type AgentRequest } from './agent-request-table';

/** A request of the editor. Ids are JSON text. */
export interface EditorRequest {
  /** The editor's id, as it was written. */
  readonly id: string;
  /** The requests at children that serve it: none while the proxy itself holds it, several when fanned out. */
  readonly targets: { readonly child: Child; readonly childId: string }[];
  /** It is cancelled: a child that has not got it yet does not get it. */
  isCancelled: boolean;
  /** It is a request of ours, made from one of the editor: it is in no table, and its answer is for us. */
  readonly isOurs?: true;
}

/** How many requests one peer may have open: far more than any needs. */
export const maxOpenRequests = 10_000;

export class RequestTable {
  readonly #ofEditor = new OpenRequests<EditorRequest>();
  readonly ofAgents = new AgentRequestTable();
  /** What is called with the answers to requests of our own. */
  readonly #own = new OpenRequests<(answer: Message | undefined) => void>();
  #waits: (() => void)[] = [];
  #lastEditorId = 0;

  get isFull(): boolean {
    return this.#ofEditor.size >= maxOpenRequests;
  }

  /** A request of the editor was read; undefined when one with that id is still open. */
  begin(id: string): EditorRequest | undefined {
    if (this.#ofEditor.get(id) !== undefined) return undefined;
    const request: EditorRequest = { id, targets: [], isCancelled: false };
    this.#ofEditor.add(id, request);
    return request;
  }

  /** The open request of the editor with that id, also when it is written otherwise. */
  find(id: string): EditorRequest | undefined {
    return this.#ofEditor.find(id);
  }

  /** Whether somebody waits for the answer to a request, which may be one of our own. */
  isWanted(request: EditorRequest): boolean {
    return request.isOurs === true ? !request.isCancelled : this.#ofEditor.get(request.id) === request;
  }

  /** Ends a request of the editor; false when it is over already, and must not be answered again. */
  finish(request: EditorRequest): boolean {
    if (this.#ofEditor.get(request.id) !== request) return false;
    this.#ofEditor.take(request.id);
    this.#wake();
    return true;
  }

  /** Resolves when no request of the editor is open. */
  async whenNone(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#waits.push(resolve);
      this.#wake();
    });
  }

  /** The editor's open requests, oldest first. */
  openOfEditor(): EditorRequest[] {
    return this.#ofEditor.all;
  }

  /**
   * Gives a request of an agent a new id of ours for the editor. Undefined if that agent has too many open.
   */
  pass(request: Omit<AgentRequest, 'editorId'>): AgentRequest | undefined {
    if (this.ofAgents.countOf(request.child) >= maxOpenRequests) return undefined;
    const passed = { ...request, editorId: this.newEditorId() };
    this.ofAgents.add(passed);
    return passed;
  }

  /**
   * An id for a request of our own to the editor, JSON text. `onAnswer` is called once, with `undefined` if there is no
   * answer, or none that can be read.
   */
  newEditorId(onAnswer?: (answer: Message | undefined) => void): string {
    const editorId = String(++this.#lastEditorId);
    if (onAnswer !== undefined) this.#own.add(editorId, onAnswer);
    return editorId;
  }

  /** Ends a request of ours; false if no request is open under that id. */
  settleOwn(editorId: string, answer?: Message): boolean {
    const onAnswer = this.#own.take(editorId);
    onAnswer?.(answer);
    return onAnswer !== undefined;
  }

  /** No request of our own is answered any more. */
  failOwn(): void {
    for (const onAnswer of this.#own.takeAll()) onAnswer(undefined);
  }

  #wake(): void {
    if (this.#ofEditor.size === 0) for (const resolve of this.#waits.splice(0)) resolve();
  }
}
