/** The requests that are open between an editor and a server, in both directions. */
import { newOwnId, findById } from '../../rpc/answer';
import { fieldOf, jsonOf, type Message } from '../../rpc/message';
import { joined, replacing, splice, withId } from '../../rpc/splice';

/** A request of the editor that the server has not answered. */
export interface OpenCall {
  /** JSON text. */
  readonly id: string;
  /** As the editor sent it. */
  readonly method: string;
  /** The session that it names. */
  readonly sessionId: string | undefined;
  /** Its line, for those whose answer tells what to do on another connection. */
  readonly kept: Message | undefined;
}

/** A request of the server that the editor has not answered. */
interface Asked {
  readonly editorId: string;
  readonly serverId: string;
}

/** Ids are JSON texts. */
export class OpenCalls {
  readonly #ofEditor = new Map<string, OpenCall>();
  /** By the ids that the editor knows. */
  readonly #ofServer = new Map<string, Asked>();
  /** Those that no server waits for any more, and that the editor may still answer. */
  readonly #withdrawn = new Map<string, Asked>();

  /** The editor's, the oldest first. */
  get ofEditor(): readonly OpenCall[] {
    return [...this.#ofEditor.values()];
  }

  /** The editor has sent a request. */
  open(call: OpenCall): void {
    this.#ofEditor.set(call.id, call);
  }

  /** The server's answer with that id has come: the request that it is for is open no more. */
  finish(id: string): OpenCall | undefined {
    const call = findById(this.#ofEditor, id);
    if (call !== undefined) this.#ofEditor.delete(call.id);
    return call;
  }

  /** All of the editor's are open no more. */
  takeAll(): readonly OpenCall[] {
    const calls = this.ofEditor;
    this.#ofEditor.clear();
    return calls;
  }

  /**
   * A request of the server, as the editor gets it: under another id where the editor may still answer an earlier one
   * under that id, since servers count from the same number each time.
   */
  toEditor(request: Message): Buffer {
    const serverId = request.id!;
    const editorId = findById(this.#withdrawn, serverId) === undefined ? serverId : newOwnId();
    this.#ofServer.set(editorId, { editorId, serverId });
    return editorId === serverId ? request.line : withId(request, editorId);
  }

  /** `$/cancel_request` of the server, with the id that the editor knows. */
  cancelToEditor(notice: Message): Buffer {
    const field = fieldOf(notice, 'requestId');
    if (field === undefined) return notice.line;
    const id = jsonOf(notice, field);
    const asked = [...this.#ofServer.values()].find(({ serverId }) => serverId === id);
    if (asked === undefined || asked.editorId === id) return notice.line;
    return joined(splice(notice.line, [replacing(field, asked.editorId)]));
  }

  /** The editor's answer, as the server gets it; undefined: no server waits for it. */
  toServer(answer: Message): Buffer | undefined {
    const id = answer.id!;
    const withdrawn = findById(this.#withdrawn, id);
    if (withdrawn !== undefined) {
      this.#withdrawn.delete(withdrawn.editorId);
      return undefined;
    }
    const asked = findById(this.#ofServer, id);
    if (asked === undefined) return answer.line;
    this.#ofServer.delete(asked.editorId);
    return asked.editorId === asked.serverId ? answer.line : withId(answer, asked.serverId);
  }

  /** No server waits for the editor's answers any more; returns the ids that the editor knows. */
  withdrawAll(): readonly string[] {
    const ids = [...this.#ofServer.keys()];
    for (const [id, asked] of this.#ofServer) this.#withdrawn.set(id, asked);
    this.#ofServer.clear();
    return ids;
  }
}
