/** The requests of a server that its editor has not answered. Ids are JSON text. */
import { newOwnId } from '../../rpc/answer';
import { fieldOf, jsonOf, type Message } from '../../rpc/message';
import { OpenRequests } from '../../rpc/open-requests';
import { joined, replacing, splice, withId } from '../../rpc/splice';

/** So many requests of a server may be open: far more than any needs. */
const maxOpen = 10_000;

/** A request of the server that the editor has not answered. */
interface Asked {
  readonly editorId: string;
  readonly serverId: string;
}

/** The requests of the servers to which one editor is connected in turn. */
export class ServerRequests {
  /** By the ids that the editor knows. */
  readonly #open = new OpenRequests<Asked>();
  /** Those that no server waits for any more, and that the editor may still answer. */
  readonly #withdrawn = new OpenRequests<Asked>();

  /**
   * A request of the server, as the editor gets it: under another id where the editor may still answer an earlier one
   * under that id, since servers count from the same number each time. Undefined: there are too many.
   */
  toEditor(request: Message): Buffer | undefined {
    if (this.#open.size + this.#withdrawn.size >= maxOpen) return undefined;
    const serverId = request.id!;
    const editorId = this.#withdrawn.find(serverId) === undefined ? serverId : newOwnId();
    this.#open.add(editorId, { editorId, serverId });
    return editorId === serverId ? request.line : withId(request, editorId);
  }

  /** `$/cancel_request` of the server, with the id that the editor knows. */
  cancelToEditor(notice: Message): Buffer {
    const field = fieldOf(notice, 'requestId');
    if (field === undefined) return notice.line;
    const id = jsonOf(notice, field);
    const asked = this.#open.all.find(({ serverId }) => serverId === id);
    if (asked === undefined || asked.editorId === id) return notice.line;
    return joined(splice(notice.line, [replacing(field, asked.editorId)]));
  }

  /** The editor's answer, as the server gets it; undefined: no server waits for it. */
  toServer(answer: Message): Buffer | undefined {
    const id = answer.id!;
    if (this.#withdrawn.take(id) !== undefined) return undefined;
    const asked = this.#open.take(id);
    if (asked === undefined || asked.editorId === asked.serverId) return answer.line;
    return withId(answer, asked.serverId);
  }

  /** No server waits for the editor's answers any more; returns the ids that the editor knows. */
  withdrawAll(): readonly string[] {
    const all = this.#open.takeAll();
    for (const asked of all) this.#withdrawn.add(asked.editorId, asked);
    return all.map(({ editorId }) => editorId);
  }
}
