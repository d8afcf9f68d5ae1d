/** The list: workspaces with their sessions, those that are open marked, and a form for a new one. */
import { isLost, type AgentLink } from './agent-link';
import { button, byId, el, quote } from './dom';
import { fieldsOf, listOf, textOf, type Fields } from './fields';
import type { LiveSession, ServerState } from './server';

export interface ListedSession extends Omit<LiveSession, 'cwd' | 'isWorking' | 'isAsking'> {
  readonly cwd: string;
}

export class SessionList {
  readonly #box = byId('session-list');
  readonly #sessions = new Map<string, ListedSession>();
  /** Where the list of an agent goes on. */
  readonly #cursors = new Map<AgentLink, string>();
  readonly #links = new Set<AgentLink>();
  readonly #problems = new Map<string, string>();
  #live: readonly LiveSession[] = [];
  #current = '';

  /** `hrefOf`: what opens a session. */
  constructor(private readonly hrefOf: (session: ListedSession) => string) {}

  find(agent: string, sessionId: string): ListedSession | undefined {
    return this.#sessions.get(keyOf({ agent, sessionId }));
  }

  showLive({ sessions }: ServerState): void {
    this.#live = sessions;
    for (const { agent, sessionId, cwd, title, updatedAt } of sessions)
      if (cwd !== undefined) this.#add({ agent, sessionId, cwd, title, updatedAt });
    this.#draw();
  }

  add(session: ListedSession): void {
    this.#add(session);
    this.#draw();
  }

  /** What is not known now stays as it was. */
  #add(session: ListedSession): void {
    const known = this.#sessions.get(keyOf(session));
    const title = session.title ?? known?.title;
    this.#sessions.set(keyOf(session), {
      ...session,
      title,
      updatedAt: session.updatedAt ?? known?.updatedAt,
    });
  }

  /** The session that is shown beside the list. */
  setCurrent(agent: string, sessionId: string): void {
    this.#current = keyOf({ agent, sessionId });
    this.#draw();
  }

  /** Shows how the connection to an agent stands now. */
  showLink(link: AgentLink): void {
    this.#links.add(link);
    if (link.state.isReady) void this.load(link);
    else this.#draw();
  }

  /** Asks an agent for its sessions: the first page, or the next one. */
  async load(link: AgentLink, isNext = false): Promise<void> {
    const { agent } = link;
    const cursor = isNext ? this.#cursors.get(link) : undefined;
    this.#problems.delete(agent);
    try {
      const client = await link.ready();
      if (fieldsOf(link.capabilities.sessionCapabilities).list === undefined) return;
      const page = await client.call('session/list', cursor === undefined ? {} : { cursor });
      for (const row of listOf(page.sessions)) this.#addRow(agent, row);
      this.#cursors.delete(link);
      if (typeof page.nextCursor === 'string') this.#cursors.set(link, page.nextCursor);
    } catch (reason) {
      if (!isLost(reason)) this.#problems.set(agent, reason instanceof Error ? reason.message : '');
    }
    this.#draw();
  }

  #addRow(agent: string, row: Fields): void {
    const [sessionId, cwd] = [textOf(row.sessionId), textOf(row.cwd)];
    if (sessionId === undefined || cwd === undefined) return;
    this.#add({ agent, sessionId, cwd, title: textOf(row.title), updatedAt: textOf(row.updatedAt) });
  }

  #draw(): void {
    const groups = new Map<string, ListedSession[]>();
    for (const each of [...this.#sessions.values()].sort(byTime)) {
      const group = groups.get(each.cwd) ?? [];
      groups.set(each.cwd, [...group, each]);
    }
    const sections = [...groups].map(([cwd, sessions]) =>
      el(
        'section',
        {},
        el('h3', {}, quote(cwd.slice(cwd.lastIndexOf('/') + 1)), el('small', { class: 'path' }, quote(cwd))),
        el('ul', {}, ...sessions.map((each) => this.#row(each))),
      ),
    );
    const lost = [...this.#links].flatMap(({ agent, state: { isReady, reason } }) =>
      isReady || reason === undefined ? [] : [el('p', { class: 'error' }, `${agent}: ${reason}`)],
    );
    const problems = [...this.#problems].map(([agent, text]) =>
      el('p', { class: 'error' }, `${agent}: ${text}`),
    );
    const more = [...this.#cursors.keys()].map((link) =>
      button(`More of ${link.agent}`, () => void this.load(link, true)),
    );
    const empty =
      sections.length + problems.length === 0 ? el('p', { class: 'quiet' }, 'No sessions yet.') : undefined;
    const { activeElement } = document;
    const href = this.#box.contains(activeElement) ? activeElement!.getAttribute('href') : null;
    this.#box.replaceChildren(...lost, ...problems, ...sections, ...(empty === undefined ? more : [empty]));
    // Whoever walks through the list by keyboard stays where they are.
    const links = href === null ? [] : [...this.#box.querySelectorAll('a')];
    links.find((each) => each.getAttribute('href') === href)?.focus();
  }

  #row(session: ListedSession): HTMLElement {
    const live = this.#live.find((each) => keyOf(each) === keyOf(session));
    const mark = live && (live.isAsking ? 'asks' : live.isWorking ? 'works' : 'open');
    const link = el(
      'a',
      { href: this.hrefOf(session), 'aria-current': keyOf(session) === this.#current ? 'true' : undefined },
      el('bdi', { class: 'title' }, session.title ?? 'Session without a title'),
      el('small', {}, [session.agent, dateOf(session.updatedAt)].filter(Boolean).join(' · ')),
    );
    if (mark !== undefined) link.append(el('span', { class: `mark ${mark}` }, mark));
    return el('li', {}, link);
  }
}

function keyOf({ agent, sessionId }: { readonly agent: string; readonly sessionId: string }): string {
  return JSON.stringify([agent, sessionId]);
}

/** The newest first; sessions without a date come before these. */
function byTime(one: ListedSession, other: ListedSession): number {
  return timeOf(other) - timeOf(one) || 0;
}

function timeOf({ updatedAt }: ListedSession): number {
  const time = Date.parse(updatedAt ?? '');
  return Number.isNaN(time) ? Infinity : time;
}

function dateOf(text: string | undefined): string {
  const time = new Date(text ?? '');
  return Number.isNaN(time.getTime())
    ? ''
    : time.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}
