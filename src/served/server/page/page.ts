/**
 * The page for browsers: its files, which hold no data and are for everybody, and what it asks besides ACP. Its posts are
 * JSON, which browsers let pages of other origins send only after a question that is answered with no.
 */
import type { JsonObject } from '../../../rpc/json';
import { ownerName } from '../../../config/serve-words';
import type { Connections } from '../connections';
import type { Door } from '../door/door';
import type { Request } from '../door/request-rules';
import { isRefusal, type Refusal, type Visitor } from '../door/visitor';
import { Bodies, isJson } from '../http/body';
import type { Response } from '../http/event-stream';
import { HttpError } from '../http/http-error';
import { isInside } from '../../../system/paths/is-inside';
import { sendFile, sendJson, type PageFiles } from './page-files';

/** The page's files below `dist/page`, with their types. */
const files: PageFiles = {
  '/': ['index.html', 'text/html'],
  '/page/app.js': ['app.js', 'text/javascript'],
  '/page/style.css': ['style.css', 'text/css'],
};
/** Tickets and names are short. */
const maxBodyBytes = 4_096;
const maxWorkspaces = 100;

export interface Remembered {
  readonly id: string;
  readonly agent: string;
  readonly cwd: string;
  readonly root: string;
  readonly title?: string | undefined;
  /** When this was written, ISO 8601. */
  readonly at?: string;
  /** Its last activity, ISO 8601. Absent: it was never used. */
  readonly updatedAt?: string | undefined;
}

export interface PageOptions {
  readonly door: Door;
  readonly connections: Connections;
  /** The sessions of this user, in the order of their last changes. */
  remembered(): Iterable<Remembered>;
  /** The address of the page, without a slash at its end; undefined: browsers cannot reach it. */
  address(): string | undefined;
  refuse(refusal: Refusal): never;
}

export class Page {
  readonly #bodies = new Bodies(maxBodyBytes);

  constructor(private readonly options: PageOptions) {}

  /** Answers a request for `/` or something below `/page/`; rejects with `HttpError`, or as `refuse` throws. */
  async serve(request: Request, response: Response, path: string, isLocal: boolean): Promise<void> {
    const { method } = request;
    if (Object.hasOwn(files, path) && (method === 'GET' || method === 'HEAD')) {
      this.#check(request, isLocal);
      sendFile(request, response, files[path]!);
    } else if (path === '/page/state' && method === 'GET')
      sendJson(response, this.#stateFor(this.#admit(request, isLocal)));
    else if (method === 'POST') await this.#post(request, response, path, isLocal);
    else {
      this.#check(request, isLocal);
      throw new HttpError(404, 'there is nothing at this path');
    }
  }

  /** A link that signs in as a user who has a token, or why there is no link. */
  linkFor(name: string): string | Refusal {
    const { door } = this.options;
    const base = this.options.address();
    if (base === undefined)
      return {
        status: 409,
        text: 'the server has no address for browsers: give it one by --listen HOST:PORT',
      };
    const visitor = door.visitorNamed(name);
    return isRefusal(visitor) ? visitor : `${base}/#ticket=${door.newTicket(visitor)}`;
  }

  async #post(request: Request, response: Response, path: string, isLocal: boolean): Promise<void> {
    const { door } = this.options;
    this.#check(request, isLocal);
    if (!isJson(request)) throw new HttpError(415, 'the body has the type application/json');
    if (path === '/page/sign-in') {
      const given = request.headers.authorization === undefined ? undefined : this.#admit(request, isLocal);
      const { ticket } = await this.#bodyOf(request);
      const secret = given === undefined ? ticket : door.newTicket(given);
      const redeemed = door.redeem(typeof secret === 'string' ? secret : '', request);
      if (isRefusal(redeemed)) this.options.refuse(redeemed);
      sendJson(response, { key: redeemed.key }, redeemed.cookie);
    } else if (path === '/page/sign-out') {
      this.#admit(request, isLocal);
      sendJson(response, {}, door.signOut(request).cookie);
    } else if (path === '/page/tickets') {
      const visitor = this.#admit(request, isLocal);
      // A cookie makes no further ways in.
      const isOwner = visitor.name === ownerName && (isLocal || request.headers.authorization !== undefined);
      if (!isOwner) throw new HttpError(403, 'only the owner of this server makes links');
      sendJson(response, { link: this.#ownersLink(await this.#bodyOf(request)) });
    } else if (path === '/page/tokens' || path === '/page/tokens/end') {
      const { label } = await this.#bodies.readObject(request, this.#admit(request, isLocal));
      // They may have lost their rights while the body came.
      const own = door.ownTokensOf(this.#admit(request, isLocal));
      if (isRefusal(own)) this.options.refuse(own);
      if (typeof label !== 'string') throw new HttpError(400, 'the body has the name of a token as "label"');
      if (path === '/page/tokens') sendJson(response, { token: await own.make(label) });
      else if (await own.end(label)) sendJson(response, {});
      else throw new HttpError(404, 'you have no token of that name');
    } else throw new HttpError(404, 'there is nothing at this path');
  }

  /** Who sends a ticket is not known yet: others may come from the same address, and slowly. */
  async #bodyOf(request: Request): Promise<JsonObject> {
    const { remoteAddress, remotePort } = request.socket;
    return await this.#bodies.readObject(request, { name: `${remoteAddress} ${remotePort}` });
  }

  #ownersLink({ user = ownerName }: JsonObject): string {
    const link = this.linkFor(String(user));
    if (typeof link !== 'string') throw new HttpError(link.status, link.text);
    return link;
  }

  /** Only what this visitor may see. */
  #stateFor(visitor: Visitor): object {
    const { connections } = this.options;
    const agents = connections.agentsFor(visitor);
    const known = [...this.options.remembered()].filter(
      ({ agent, root }) =>
        agents.includes(agent) && (visitor.workspaces?.some((each) => isInside(root, each)) ?? true),
    );
    const byId = new Map(known.map((each) => [each.id, each]));
    const sessions = agents.flatMap((agent) =>
      connections.sessionsOf(visitor, agent).map(({ id, isInTurn, isWaiting }) => {
        const { cwd, title, at, updatedAt = at } = byId.get(id) ?? {};
        return { agent, sessionId: id, cwd, title, updatedAt, isWorking: isInTurn, isAsking: isWaiting };
      }),
    );
    const own = this.options.door.ownTokensOf(visitor);
    const folders = [...known.reverse().map(({ cwd }) => cwd), ...(visitor.workspaces ?? [])];
    return {
      name: visitor.name,
      agents,
      workspaces: [...new Set(folders)].slice(0, maxWorkspaces),
      sessions,
      ...(!isRefusal(own) && { tokens: own.list() }),
    };
  }

  #check(request: Request, isLocal: boolean): void {
    const refusal = this.options.door.check(request, isLocal);
    if (refusal !== undefined) this.options.refuse(refusal);
  }

  #admit(request: Request, isLocal: boolean): Visitor {
    const visitor = this.options.door.admit(request, isLocal);
    if (isRefusal(visitor)) this.options.refuse(visitor);
    return visitor;
  }
}
