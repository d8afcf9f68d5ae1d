import type { CaiError } from '../../errors';
import type { Message } from '../../rpc/message';
import type { AgentSession } from '../sessions/session';
import type { PathMap } from '../../system/paths/path-map';

/** How a call of the editor is passed on. */
export interface CallContext {
  /** Whose ids and paths the call's fields are in. */
  readonly map: PathMap;
  /** The session that it is about, if it is open. */
  readonly session?: AgentSession | undefined;
  /** Why a result cannot be used, if so: then the call fails with that. */
  readonly refuse?: ((result: Message) => CaiError | undefined) | undefined;
  /** Called with a result before that is passed on to the editor. */
  onResult?(result: Message): void;
  /** Called if there is no result: with the error answer, or with why no answer came; `undefined` for a notification. */
  readonly onNoResult?: (reason: CaiError | Message | undefined) => void;
}
