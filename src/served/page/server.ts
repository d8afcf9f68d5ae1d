/** What the page asks the server besides ACP. */
/** A session that is open in some connection. */
export interface LiveSession {
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

/** A token that somebody has made for a program. */
export interface OwnToken {
  readonly label: string;
  /** ISO 8601, as all times here. */
  readonly created: string;
  readonly expires: string;
  /** The last day of it, or undefined. */
  readonly used: string | undefined;
}

/** What there is for who is signed in. */
export interface ServerState {
  readonly name: string;
  readonly agents: readonly string[];
  /** Folders in which there were sessions. */
  readonly workspaces: readonly string[];
  readonly sessions: readonly LiveSession[];
  /** undefined: who is signed in makes none. */
  readonly tokens: readonly OwnToken[] | undefined;
}

/** The server does not let in, or cannot be reached: its words. */
export class Refused extends Error {
  constructor(
    /** Of HTTP; 0 without an answer. */
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** For people: why something has failed. */
export function reasonText(reason: unknown): string {
  return reason instanceof Error ? reason.message : 'Something went wrong.';
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
  const { key } = (await answer.json()) as { readonly key: string };
  localStorage.setItem(keyItem, key);
}

/** Signs out; rejects with `Refused`. */
export async function signOut(): Promise<void> {
  await ask('page/sign-out', { method: 'POST', body: '{}' });
  localStorage.removeItem(keyItem);
}

/** Rejects with `Refused`, with status 401 for who is not signed in. */
export async function stateOfServer(): Promise<ServerState> {
  return (await (await ask('page/state')).json()) as ServerState;
}

/** Makes a token, which is told once; rejects with `Refused`. */
export async function newToken(label: string): Promise<string> {
  const answer = await ask('page/tokens', { method: 'POST', body: JSON.stringify({ label }) });
  return ((await answer.json()) as { readonly token: string }).token;
}

/** Ends a token; rejects with `Refused`. */
export async function endToken(label: string): Promise<void> {
  await ask('page/tokens/end', { method: 'POST', body: JSON.stringify({ label }) });
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
