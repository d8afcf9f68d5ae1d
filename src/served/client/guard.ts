/**
 * A server may be a stranger's, or have been taken over. What would act on the editor's machine is not offered to it, and
 * taken out of what it sends. Why: docs/decisions/0044-servers-are-strangers.md.
 */
import { rpcCode } from '../../errors';
import type { RpcError } from '../../rpc/answer';
import { wantedIn } from '../../rpc/json';
import type { Message, Plans } from '../../rpc/message';
import { joined, replacing, splice, type Edit } from '../../rpc/splice';
import * as fields from '../../rpc/protocol/fields';
import { restrictionOf } from '../../rpc/protocol/method-rows';
import { methodNotFound, unsafeUrl } from '../../rpc/protocol/refusals';

const routed = { sessionId: 'session', requestId: 'requestId' } as const;
const params = wantedIn({ ...routed, url: 'url' });
const hello = wantedIn(fields.initializeParams);
const result = wantedIn({ ...fields.initializeResult, ...routed });
/** What is looked at in the messages of both sides. */
export const plans: Plans = {
  params: (method) => (method === 'initialize' ? hello : params),
  result: () => result,
  error: wantedIn(fields.errorObject),
};
/** What is offered to no server, by the kind of its field. */
const withheld = new Set(['fileCapability', 'terminalCapability', 'signInCapability']);

export class Guard {
  /** `withoutCommands` makes the edits that remove all commands from an answer's sign-ins. */
  constructor(private readonly withoutCommands: (answer: Message) => Edit[]) {}

  /** The line of the editor's `initialize` for the server. */
  initialize(request: Message): Buffer {
    const offers = request.fields.filter(({ kind }) => withheld.has(kind));
    const edits = offers.map((field) => replacing(field, 'false'));
    return joined(splice(request.line, edits));
  }

  /** The error for what a server asks or tells; undefined: the editor may have it. */
  refusalOf(message: Message): RpcError | undefined {
    if (message.kind === 'defect')
      return { code: rpcCode.invalidRequest, message: `Invalid request: ${message.defect}` };
    if (restrictionOf(message.method) !== undefined) return methodNotFound(message.method);
    const fault = message.method === 'elicitation/create' ? unsafeUrl(message) : undefined;
    return fault === undefined
      ? undefined
      : { code: rpcCode.invalidParams, message: `elicitation/create: ${fault}` };
  }

  answer(answer: Message): Buffer {
    const edits = this.withoutCommands(answer);
    return edits.length === 0 ? answer.line : joined(splice(answer.line, edits));
  }
}
