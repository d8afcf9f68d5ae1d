/** One session that is open: what was said, what is asked, and where to write. */
import { RpcError, type Id } from './acp-client';
import { isLost, type AgentLink, type ShownSession } from './agent-link';
import { button, el, quote } from './dom';
import { fieldsOf, isOurs, textOf, type Fields } from './fields';
import { Permissions } from './permissions';
import { PromptBox } from './prompt-box';
import { reasonText } from './server';
import { Settings } from './settings';
import { follow } from './shown/follow';
import { Transcript } from './shown/transcript';

export interface SessionPlace {
  readonly sessionId: string;
  readonly cwd: string;
  /** What the agent calls it, if that is known. */
  readonly title: string | undefined;
}

/** What a conversation asks of the rest of the page. */
export interface ConversationPorts {
  /** Whether a turn of the session is open, as the server knows; undefined: it is not open anywhere. */
  isWorking(sessionId: string): Promise<boolean | undefined>;
  /** Whether a turn is open is another one. */
  changed(): void;
  /** What the list shows of it is another one. */
  listed(news: { readonly title?: string; readonly updatedAt?: string }): void;
}

const authRequired = -32000;
const maxTitleLength = 80;
const stops: Readonly<Record<string, string>> = {
  cancelled: 'Stopped.',
  max_tokens: 'The agent has reached its limit of tokens.',
  max_turn_requests: 'The agent has reached its limit of requests in one turn.',
  refusal: 'The agent refuses to go on.',
};

export class Conversation implements ShownSession {
  readonly element = el('section', { class: 'conversation', 'aria-label': 'Session' });
  readonly #title = el('h2', {});
  readonly #status = el('p', { class: 'status', role: 'status' });
  readonly #transcript = new Transcript();
  readonly #permissions = new Permissions({
    answer: (id, optionId) => this.#decide(id, optionId),
    known: (toolCallId) => this.#transcript.known(toolCallId),
    shows: (toolCallId, isShown) => {
      this.#transcript.setAsked(toolCallId, isShown);
      this.show();
    },
  });
  readonly #settings = new Settings((method, params) => void this.#change(method, params));
  readonly #prompt = new PromptBox({ send: (prompt) => void this.#send(prompt), stop: () => this.#stop() });
  #isLoaded = false;
  #isLoading = false;
  #isWorking = false;
  /** Counts ends of turns, to know whether what the server has told is outdated. */
  #ends = 0;
  /** What was sent when the connection was lost. */
  #unproven: readonly Fields[] | undefined;
  /** The last content block of the user that the session has told. */
  #said: Fields = {};
  #agentsTitle: string | undefined;
  /** Of the first prompt: the title as long as the agent gives none. */
  #firstLine: string | undefined;

  /** `opened`: the answer to the call that has just made the session; without it, `join` opens it. */
  constructor(
    private readonly link: AgentLink,
    private readonly place: SessionPlace,
    private readonly ports: ConversationPorts,
    opened?: Fields,
  ) {
    const back = el('a', { href: '#', class: 'back', 'aria-label': 'All sessions' }, '‹');
    const place_ = el('p', { class: 'path' }, quote(place.cwd), ` · ${link.agent}`);
    const head = el('header', {}, back, el('div', {}, this.#title, place_), this.#settings.usage);
    const foot = el(
      'footer',
      {},
      this.#permissions.element,
      this.#status,
      this.#prompt.element,
      this.#settings.element,
    );
    this.element.append(head, follow(this.#transcript.element), foot);
    this.#agentsTitle = place.title;
    this.#showTitle();
    if (opened !== undefined) {
      this.#isLoaded = true;
      this.#settings.answered(opened);
    }
    link.show(place.sessionId, this);
    this.show();
  }

  /** Draws how the connection and the turn stand. */
  show(): void {
    const { isReady, reason } = this.link.state;
    const { image } = fieldsOf(this.link.capabilities.promptCapabilities);
    this.#prompt.set(isReady && this.#isLoaded, this.#isWorking, image === true);
    this.#status.replaceChildren();
    if (!isReady && reason !== undefined)
      this.#status.append(
        el('span', {}, `${reason} What you have written stays. `),
        button('Connect now', () => this.link.hurry()),
      );
    else if (!isReady) this.#status.append('Connecting …');
    else if (this.#isLoading) this.#status.append('Opening the session …');
    else if (this.#permissions.areAsked) this.#status.append('Waiting for your answer …');
    else if (this.#isWorking) this.#status.append('The agent works …');
    this.element.toggleAttribute('data-lost', !isReady && reason !== undefined);
  }

  focus(): void {
    this.#prompt.focus();
  }

  /** Loads the session: what it is told replaces what is shown. */
  async join(): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    this.#isLoaded = false;
    this.show();
    try {
      const client = await this.link.ready();
      const isLive = await this.ports.isWorking(this.place.sessionId);
      const method = this.#openingMethod(isLive !== undefined);
      this.#transcript.clear();
      this.#permissions.clear();
      this.#settings.clear();
      this.#said = {};
      this.#firstLine = undefined;
      this.#transcript.element.setAttribute('aria-busy', 'true');
      const { sessionId, cwd } = this.place;
      const answer = await client.call(method, { sessionId, cwd, mcpServers: [] });
      if (isLive === undefined) this.#settings.answered(answer);
      else this.#settings.joined(answer);
      this.#transcript.endMessage();
      this.#isLoaded = true;
      this.#proveSent();
      const ends = this.#ends;
      const isWorking = await this.ports.isWorking(sessionId);
      if (ends === this.#ends) this.#isWorking = isWorking === true;
    } catch (reason) {
      this.#fail(reason);
    } finally {
      this.#isLoading = false;
      this.#transcript.element.removeAttribute('aria-busy');
      this.show();
    }
  }

  updated(params: Fields): void {
    const update = fieldsOf(params.update);
    const kind = textOf(update.sessionUpdate);
    if (kind === 'session_info_update') this.#inform(update);
    else if (!this.#transcript.update(update, isOurs(params))) this.#settings.updated(update);
    if (kind !== 'user_message_chunk') return;
    this.#said = fieldsOf(update.content);
    this.#hear(this.#said);
    // Another client has begun a turn.
    if (this.#isLoaded && !this.#isWorking) this.#setWorking(true);
  }

  asked(id: Id, params: Fields): void {
    this.#permissions.ask(id, params);
  }

  withdrawn(id: Id): boolean {
    return this.#permissions.remove(id);
  }

  turnEnded(): void {
    this.#ends++;
    this.#transcript.endMessage();
    this.#setWorking(false);
  }

  reconnected(): void {
    void this.join();
  }

  async #send(prompt: readonly Fields[]): Promise<void> {
    this.#transcript.said(prompt);
    for (const block of prompt) this.#hear(block);
    this.ports.listed({ updatedAt: new Date().toISOString() });
    this.#setWorking(true);
    try {
      const client = await this.link.ready();
      const { stopReason } = await client.call('session/prompt', { sessionId: this.place.sessionId, prompt });
      const note = stops[textOf(stopReason) ?? ''];
      if (note !== undefined) this.#transcript.note('note', note);
    } catch (reason) {
      if (isLost(reason)) {
        this.#unproven = prompt;
        return;
      }
      this.#fail(reason);
    }
    this.turnEnded();
  }

  /** Whether what was sent when the connection was lost has arrived is seen in what the session tells. */
  #proveSent(): void {
    const sent = this.#unproven;
    this.#unproven = undefined;
    const { text, data } = sent?.at(-1) ?? {};
    if (sent !== undefined && (this.#said.text !== text || this.#said.data !== data))
      this.#prompt.putBack(sent);
  }

  #stop(): void {
    this.#permissions.cancelAll();
    void this.link
      .ready()
      .then((client) => client.tell('session/cancel', { sessionId: this.place.sessionId }));
  }

  #decide(id: Id, optionId: string | undefined): void {
    const outcome = optionId === undefined ? { outcome: 'cancelled' } : { outcome: 'selected', optionId };
    void this.link.ready().then((client) => client.answer(id, { outcome }));
    this.#prompt.focus();
  }

  async #change(method: string, params: Fields): Promise<void> {
    try {
      const client = await this.link.ready();
      this.#settings.answered(await client.call(method, { sessionId: this.place.sessionId, ...params }));
      if (method === 'session/set_mode')
        this.#settings.updated({ sessionUpdate: 'current_mode_update', currentModeId: params.modeId });
    } catch (reason) {
      this.#fail(reason);
      // Shows what still holds.
      this.#settings.answered({});
    }
  }

  /** What is open in another connection can be joined whatever the agent can do. */
  #openingMethod(isLive: boolean): string {
    const { loadSession, sessionCapabilities } = this.link.capabilities;
    if (isLive || loadSession === true) return 'session/load';
    if (fieldsOf(sessionCapabilities).resume !== undefined) return 'session/resume';
    throw new Error('This agent cannot open a session again.');
  }

  #fail(reason: unknown): void {
    if (isLost(reason)) return;
    const text = reasonText(reason);
    if (reason instanceof RpcError && reason.code === authRequired) {
      const command = el('code', {}, `cai login ${this.link.agent}`);
      this.#transcript.note(
        'error',
        `${text} On the server's machine, run `,
        command,
        ', then try again. ',
        this.#again(),
      );
    } else this.#transcript.note('error', `${text} `, this.#again());
  }

  #again(): HTMLElement {
    return button('Open the session again', () => void this.join());
  }

  #inform({ title, updatedAt }: Fields): void {
    if (title !== undefined) this.#agentsTitle = textOf(title);
    const time = textOf(updatedAt);
    if (time !== undefined) this.ports.listed({ updatedAt: time });
    this.#showTitle();
  }

  /** A content block of the user. */
  #hear({ text }: Fields): void {
    const [line = ''] = (textOf(text) ?? '').trim().split('\n', 1);
    if (line === '' || this.#firstLine !== undefined) return;
    this.#firstLine = line.slice(0, maxTitleLength);
    this.#showTitle();
  }

  #showTitle(): void {
    const title = this.#agentsTitle ?? this.#firstLine;
    this.#title.replaceChildren(quote(title ?? 'New session'));
    if (title !== undefined) this.ports.listed({ title });
  }

  #setWorking(isWorking: boolean): void {
    this.#isWorking = isWorking;
    this.show();
    this.ports.changed();
  }
}
