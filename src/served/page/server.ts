/** What the page asks the server besides ACP. */
import { fieldsOf, listOf, textOf } from './fields';

/** A session that is open in some connection. */
export interface LiveSession {
  /** The agent's name. */
  readonly agent: string;
  readonly sessionId: string;
  /** Its folder, if that is known. */
  readonly cwd: string | undefined;
  readonly title: string | undefined;
  /** Its last activity, ISO 8601. */
  readonly updatedAt: string | undefined;
  /** A turn is open. */
  readonly isWorking: boolean;
  /** The agent waits for a permission. */
  readonly isAsking: boolean;
}

/** What there is for who is signed in. */
export interface ServerState {
  readonly name: string;
  readonly agents: readonly string[];
  /** Folders in which there were sessions. */
  readonly workspaces: readonly string[];
  readonly sessions: readonly LiveSession[];
}

/** The server does not let in, or cannot be reached: its words. */
export class Refused extends Error {
  /** `status`: of HTTP, 0 without an answer. */
  constructor(
    /** Of HTTP; 0 without an answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const keyItem = 'cai-page-key';

/** What the server wants besides the cookie, which browsers also send to other ports; empty: it has given none. */
export function pageKey(): string {
  return localStorage.getItem(keyItem) ?? '';
}

/** Signs in by a ticket, or by a token; rejects with `Refused`. */
export async function signIn(by: { readonly ticket: string } | { readonly token: string }): Promise<void> {
  const isTicket = 'ticket' in by;
  const headers = isTicket ? {} : { authorization: `Bearer ${by.token}` };
  const answer = await ask('page/sign-in', {
    method: 'POST',
    headers,
    body: JSON.stringify(isTicket ? by : {}),
  });
  localStorage.setItem(keyItem, textOf(fieldsOf(await answer.json()).key) ?? '');
}

/** Signs out; rejects with `Refused`. */
export async function signOut(): Promise<void> {
  await ask('page/sign-out', { method: 'POST', body: '{}' });
  localStorage.removeItem(keyItem);
}

/** Rejects with `Refused`, with status 401 for who is not signed in. */
export async function stateOfServer(): Promise<ServerState> {
  const { name, agents, workspaces, sessions } = fieldsOf(await (await ask('page/state')).json());
  return {
    name: textOf(name) ?? '',
    agents: textsOf(agents),
    workspaces: textsOf(workspaces),
    sessions: listOf(sessions).map((each) => ({
      agent: textOf(each.agent) ?? '',
      sessionId: textOf(each.sessionId) ?? '',
      cwd: textOf(each.cwd),
      title: textOf(each.title),
      updatedAt: textOf(each.updatedAt),
      isWorking: each.isWorking === true,
      isAsking: each.isAsking === true,
    })),
  };
}

/** Rejects with `Refused` for any answer but a good one. */
export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    'cai-page-key': pageKey(),
    ...(options.headers as Record<string, string>),
  };
  let response: Response;
  try {
    response = await fetch(path, { ...options, headers, cache: 'no-store' });
  } catch {
    throw new Refused(0, 'The server cannot be reached.');
  }
  if (!response.ok) throw new Refused(response.status, (await response.text()).trim());
  return response;
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.flatMap((each) => textOf(each) ?? []) : [];
}
