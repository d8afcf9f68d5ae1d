/**
 * What was said and done in a session, drawn from its updates alone, live or recorded. Each update adds to what is shown;
 * only a tool call and the plan of a turn change in their place.
 */
import { el, quote, type Child } from '../dom';
import { fieldsOf, textOf, type Fields } from '../fields';
import { blockView, textOfBlock } from './block';
import { PlanView } from './plan-view';
import { TextView } from './text-view';
import { ToolView } from './tool-view';

const speakers: Readonly<Record<string, { readonly kind: string; readonly name: string }>> = {
  user_message_chunk: { kind: 'user', name: 'You' },
  agent_message_chunk: { kind: 'agent', name: 'Agent' },
  agent_thought_chunk: { kind: 'thought', name: 'Thoughts' },
};

interface Message {
  readonly update: string;
  readonly id: unknown;
  readonly body: HTMLElement;
  text: TextView | undefined;
}

export class Transcript {
  readonly element = el('div', {
    class: 'transcript',
    role: 'log',
    'aria-label': 'Conversation',
    tabindex: '0',
  });
  #message: Message | undefined;
  #plan: PlanView | undefined;
  #tools = new Map<string, ToolView>();

  /** Shows an update; `isOurs`: cai says it, not the agent. False: the transcript does not show updates of its kind. */
  update(update: Fields, isOurs = false): boolean {
    const kind = textOf(update.sessionUpdate) ?? '';
    const id = textOf(update.toolCallId) ?? '';
    if (kind === 'notice' || (isOurs && kind === 'agent_message_chunk')) this.#notice(update, isOurs);
    else if (Object.hasOwn(speakers, kind)) this.#chunk(kind, update);
    else if (kind === 'tool_call' || kind === 'tool_call_update') this.#tool(id).update(update);
    else if (kind === 'plan') this.#planView().update(update);
    else return false;
    return true;
  }

  /** What the user has just said, in content blocks. */
  said(prompt: readonly Fields[]): void {
    this.endMessage();
    for (const content of prompt) this.update({ sessionUpdate: 'user_message_chunk', content });
    this.endMessage();
  }

  /** What was told of that tool call. */
  known(toolCallId: string): Fields {
    return this.#tools.get(toolCallId)?.call ?? {};
  }

  /** A question to the user about that tool call is open, or no more. */
  setAsked(toolCallId: string, isAsked: boolean): void {
    this.#tools.get(toolCallId)?.setAsked(isAsked);
  }

  /** Something of the page: a note, or an error. `note ours`: a note of cai. */
  note(kind: 'note' | 'note ours' | 'error', ...children: readonly Child[]): void {
    this.endMessage();
    this.#add(el('p', { class: `item ${kind}`, role: kind === 'error' ? 'alert' : undefined }, ...children));
  }

  /** What comes next is another message. */
  endMessage(): void {
    this.#message?.text?.end();
    this.#message = undefined;
  }

  /** Empties it: all is told again. */
  clear(): void {
    this.#message = undefined;
    this.#plan = undefined;
    this.#tools = new Map();
    this.element.replaceChildren();
  }

  #notice({ content, title, description }: Fields, isOurs: boolean): void {
    const said = textOf(fieldsOf(content).text);
    const words = said ?? [title, description].flatMap((each) => textOf(each) ?? []).join(' ');
    const text = words.trim().replace(/^cai: /, '');
    this.note(isOurs ? 'note ours' : 'note', isOurs ? 'cai: ' : undefined, quote(text));
  }

  #chunk(update: string, { content, messageId }: Fields): void {
    const last = this.#message;
    const isSame =
      last?.update === update && (messageId === undefined || last.id === undefined || last.id === messageId);
    const message = isSame ? last : this.#begin(update, messageId);
    const block = fieldsOf(content);
    const text = textOfBlock(block);
    if (text === undefined) {
      message.text?.end();
      message.text = undefined;
      message.body.append(blockView(block));
      return;
    }
    if (message.text === undefined) {
      message.text = new TextView();
      message.body.append(message.text.element);
    }
    message.text.push(text);
  }

  #begin(update: string, id: unknown): Message {
    this.endMessage();
    const { kind, name } = speakers[update]!;
    if (kind === 'user') this.#plan = undefined;
    const body = kind === 'thought' ? el('details', {}, el('summary', {}, name)) : el('div');
    const heard = kind === 'thought' ? undefined : el('h3', { class: 'heard' }, name);
    this.#add(el('article', { class: `item ${kind}` }, heard, body));
    this.#message = { update, id, body, text: undefined };
    return this.#message;
  }

  #tool(id: string): ToolView {
    this.endMessage();
    const known = this.#tools.get(id);
    if (known !== undefined) return known;
    const view = new ToolView();
    this.#tools.set(id, view);
    this.#add(view.element);
    return view;
  }

  #planView(): PlanView {
    if (this.#plan !== undefined) return this.#plan;
    this.endMessage();
    this.#plan = new PlanView();
    this.#add(this.#plan.element);
    return this.#plan;
  }

  #add(item: HTMLElement): void {
    this.element.append(item);
  }
}
