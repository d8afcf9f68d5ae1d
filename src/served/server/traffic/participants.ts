/** Who takes part in a session: clients, one of which has its process. */
import type { Message } from '../../../rpc/message';
import type { Line } from '../../../rpc/splice';

/** A client that follows a session. Lines are without line end. */
export interface Participant {
  /** Gives it a line; `stream` is the id of the session that the line is about, or empty. */
  deliver(line: Buffer, stream: string): void;
}

/** The connection whose process has the session. */
export interface Home extends Participant {
  /** Writes a line, with its line end, to the agent. */
  toAgent(line: Line): void;
  /** Passes a guest's request on under an id of our own, which it returns; `answer` gets the answer, under the guest's. */
  callFor(guest: Participant, message: Message, answer: (line: Buffer, isError: boolean) => void): string;
  readonly isStopping: boolean;
  isInTurn(sessionId: string): boolean;
  /** A guest has answered a request of the agent, which the client has open. */
  answeredByGuest(agentId: string): void;
  lastGuestLeft(): void;
}

/** A request of a client about a session. */
export interface CallOfSession {
  /** As the client sent it. */
  readonly method: string;
  readonly by: Participant;
  /** Of `session/set_mode`. */
  readonly modeId: string | undefined;
}
