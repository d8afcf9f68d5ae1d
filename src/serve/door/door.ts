/* eslint-disable @typescript-eslint/no-meaningless-void-operator -- an interface, which is not filled in yet */
/** The door of `cai serve`: who sends a request, or why nobody is let in by it. */
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import type { Config } from '../../config/config';
import { ownerName } from '../../config/serve-words';
import type { Host } from '../../system/host';
import type { Visitor } from './visitor';

/** What a request that is not let in is answered with. */
export interface Refusal {
  /** Of HTTP. */
  readonly status: number;
  /** A sentence for people, which holds nothing of the request. */
  readonly text: string;
  /** Further headers of the answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Tells a refusal from a visitor. */
export function isRefusal(answer: Visitor | Refusal): answer is Refusal {
  return 'status' in answer;
}

/** How the server is reached. */
export interface DoorOptions {
  /** Its state folder has the tokens. */
  readonly host: Host;
  /** The table `[serve]`. */
  readonly serve: Config['serve'];
  /** A proxy of the user's stands before the server and speaks TLS with clients. */
  readonly isBehindProxy: boolean;
}

/** One server's. */
export class Door {
  /** Reads the tokens and makes the owner's, if there is none; throws `CaiError('CONFIG')` if they are not safe. */
  constructor(private readonly options: DoorOptions) {}

  /**
   * The server listens there, too: requests may name it by `host` and `port`. For 0.0.0.0 and :: only the names of the
   * configuration count, and those of loopback.
   */
  listensOn(host: string, port: number): void {
    void [host, port];
  }

  /** Who sends a request, also for an upgrade. `isLocal`: by a Unix socket that only the user can open. */
  admit(request: IncomingMessage | Http2ServerRequest, isLocal: boolean): Visitor | Refusal {
    void [request, isLocal, this.options];
    return { name: ownerName };
  }

  /** Who sends a token as the first line of a plain connection; `address`: where from. */
  admitToken(token: string, address: string): Visitor | Refusal {
    void [token, address];
    return { name: ownerName };
  }

  /** False once the token was revoked. `visitor`: the very object that was returned here. */
  isStillAdmitted(visitor: Visitor): boolean {
    return visitor.name !== '';
  }

  /**
   * One use of it, within five minutes, lets a browser in as this visitor: `redeem`. `undefined`: too many are open.
   */
  newTicket(visitor: Visitor): string | undefined {
    void visitor;
    return undefined;
  }

  /**
   * The value of `Set-Cookie` for a ticket; `undefined`: it is none any more. The request was let through by
   * `checkBrowser`.
   */
  redeem(ticket: string, isTls: boolean): string | undefined {
    void [ticket, isTls];
    return undefined;
  }

  /** For what nobody needs to be known for, the page and its ticket: what `admit` refuses besides the visitor. */
  check(request: IncomingMessage | Http2ServerRequest, isLocal: boolean): Refusal | undefined {
    void [request, isLocal];
    return undefined;
  }
}
