/** The page of `cai serve`: signs in, and shows the list and the session that the address names. */
import { AgentLink, isLost } from './agent-link';
import { Conversation } from './conversation';
import { byId, el } from './dom';
import { textOf } from './fields';
import { reasonText, Refused, signIn, signOut, stateOfServer, type ServerState } from './server';
import { SessionList, type ListedSession } from './sessions';
import { TokenList } from './tokens';

const unauthorized = 401;
/** Above this width list and session stand side by side. `style.css` has the same width. */
const isWide = matchMedia('(min-width: 800px)');

const links = new Map<string, AgentLink>();
const conversations = new Map<string, Conversation>();
const list = new SessionList(hrefOf);
const tokens = new TokenList(() => changed());
/** The question to the server how things stand, while it is open; another one follows if something has changed since. */
let asking: Promise<ServerState> | undefined;
let isOutdated = false;

void start();

async function start(): Promise<void> {
  byId('sign-in').addEventListener('submit', (event) => {
    event.preventDefault();
    const input = byId('token') as HTMLInputElement;
    const token = input.value.trim();
    input.value = '';
    void enter({ token });
  });
  byId('sign-out').addEventListener('click', () => void leave());
  byId('new-session').addEventListener('submit', (event) => {
    event.preventDefault();
    void newSession();
  });
  addEventListener('hashchange', () => void follow());
  addEventListener('online', () => hurry());
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) hurry();
  });
  await follow(true);
}

/** Does what the address says behind "#". A ticket is taken out of it before anything else. */
async function follow(isStart = false): Promise<void> {
  const ticket = addressed().get('ticket');
  if (ticket !== null) {
    history.replaceState(null, '', location.pathname);
    await enter({ ticket });
  } else if (isStart) await enter();
  else showAddressed();
}

async function enter(by?: Parameters<typeof signIn>[0]): Promise<void> {
  try {
    if (by !== undefined) await signIn(by);
    showState(await stateOfServer());
  } catch (reason) {
    const isExpected = by === undefined && reason instanceof Refused && reason.status === unauthorized;
    showSignIn(isExpected ? '' : wordsOf(reason, by !== undefined && 'ticket' in by));
    return;
  }
  byId('sign-in').hidden = true;
  byId('app').hidden = false;
  for (const link of links.values()) {
    link.hurry();
    void list.load(link);
  }
  showAddressed();
}

function wordsOf(reason: unknown, isTicket: boolean): string {
  if (reason instanceof Refused && reason.status === unauthorized && isTicket)
    return 'That link has been used, or is older than five minutes. Make a new one: cai serve link';
  return reasonText(reason);
}

function showSignIn(problem: string): void {
  const line = byId('sign-in-problem');
  line.textContent = problem;
  line.hidden = problem === '';
  byId('app').hidden = true;
  byId('sign-in').hidden = false;
  byId('token').focus();
}

async function leave(): Promise<void> {
  for (const link of links.values()) link.close();
  await signOut().catch(() => undefined);
  history.replaceState(null, '', location.pathname);
  location.reload();
}

function hurry(): void {
  for (const link of links.values()) link.hurry();
  changed();
}

/** Something may be otherwise on the server. */
function changed(): void {
  void ask().catch(() => undefined);
}

/** How things stand on the server, as of now or later. */
async function ask(): Promise<ServerState> {
  isOutdated = asking !== undefined;
  asking ??= fresh().finally(() => (asking = undefined));
  return await asking;
}

async function fresh(): Promise<ServerState> {
  try {
    let state: ServerState;
    do {
      isOutdated = false;
      state = await stateOfServer();
      // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- set while it is waited
    } while (isOutdated);
    showState(state);
    return state;
  } catch (reason) {
    if (reason instanceof Refused && reason.status === unauthorized)
      showSignIn('You are not signed in any more.');
    throw reason;
  }
}

function showState(state: ServerState): void {
  byId('visitor').textContent = state.name;
  for (const agent of state.agents) {
    if (links.has(agent)) continue;
    links.set(
      agent,
      new AgentLink(
        agent,
        () => showLinks(agent),
        () => changed(),
      ),
    );
    byId('new-agent').append(el('option', { value: agent }, agent));
  }
  byId('folders').replaceChildren(...state.workspaces.map((path) => el('option', { value: path })));
  const folder = byId('new-folder') as HTMLInputElement;
  if (folder.value === '' && document.activeElement !== folder) folder.value = state.workspaces[0] ?? '';
  list.showLive(state);
  tokens.show(state.tokens);
}

function showLinks(agent: string): void {
  for (const [key, each] of conversations) if (key.startsWith(keyOf(agent, ''))) each.show();
  list.showLink(links.get(agent)!);
}

function showAddressed(): void {
  const to = addressed();
  const [agent, sessionId, cwd] = [to.get('agent') ?? '', to.get('session') ?? '', to.get('cwd') ?? ''];
  const link = links.get(agent);
  list.setCurrent(agent, sessionId);
  if (link === undefined || sessionId === '') {
    document.body.dataset.view = 'list';
    byId('session').replaceChildren(el('p', { class: 'quiet' }, 'Choose a session, or start a new one.'));
    changed();
    return;
  }
  let conversation = conversations.get(keyOf(agent, sessionId));
  if (conversation === undefined) {
    conversation = open(link, { sessionId, cwd });
    void conversation.join();
  }
  show(conversation);
}

function show(conversation: Conversation): void {
  document.body.dataset.view = 'session';
  byId('session').replaceChildren(conversation.element);
  if (isWide.matches) conversation.focus();
}

function open(
  link: AgentLink,
  place: Readonly<Record<'sessionId' | 'cwd', string>>,
  opened?: Readonly<Record<string, unknown>>,
): Conversation {
  const { agent } = link;
  const { sessionId } = place;
  const title = list.find(agent, sessionId)?.title;
  const ports = {
    isWorking: async (): Promise<boolean | undefined> =>
      (await ask()).sessions.find((each) => each.agent === agent && each.sessionId === sessionId)?.isWorking,
    changed,
    listed: (news: { readonly title?: string; readonly updatedAt?: string }): void => {
      const known = list.find(agent, sessionId) ?? {
        agent,
        ...place,
        title: undefined,
        updatedAt: undefined,
      };
      list.add({ ...known, ...news });
    },
  };
  const conversation = new Conversation(link, { ...place, title }, ports, opened);
  conversations.set(keyOf(agent, sessionId), conversation);
  return conversation;
}

async function newSession(): Promise<void> {
  const problem = byId('new-problem');
  problem.hidden = true;
  const link = links.get((byId('new-agent') as HTMLSelectElement).value);
  if (link === undefined) return;
  const { agent } = link;
  const cwd = (byId('new-folder') as HTMLInputElement).value.trim();
  try {
    const answer = await link.newSession(cwd);
    const sessionId = textOf(answer.sessionId) ?? '';
    const session = { agent, sessionId, cwd, title: undefined, updatedAt: new Date().toISOString() };
    open(link, session, answer);
    list.add({ ...session, title: 'New session' });
    location.hash = hrefOf(session);
  } catch (reason) {
    const text = isLost(reason) ? link.state.reason : wordsOf(reason, false);
    problem.textContent = text ?? 'The connection was lost.';
    problem.hidden = false;
  }
}

function hrefOf({ agent, sessionId, cwd }: Pick<ListedSession, 'agent' | 'sessionId' | 'cwd'>): string {
  return `#${new URLSearchParams({ agent, session: sessionId, cwd }).toString()}`;
}

function addressed(): URLSearchParams {
  return new URLSearchParams(location.hash.slice(1));
}

function keyOf(agent: string, sessionId: string): string {
  return `${agent}\n${sessionId}`;
}
