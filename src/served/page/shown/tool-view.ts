/** A tool call: what it is, how it stands, and, when it is opened, what it has brought. Source: ACP v1, "Tool Calls". */
import { el, wide } from '../dom';
import { fieldsOf, listOf, textOf, type Fields } from '../fields';
import { blockView } from './block';
import { diffOf } from './diff';

const maxDiffLines = 2_000;
/** Words for the states. */
const states: Readonly<Record<string, string>> = {
  pending: 'waits',
  in_progress: 'runs',
  completed: 'done',
  failed: 'failed',
};

export class ToolView {
  readonly element = el('details', { class: 'item tool' });
  readonly #kind = el('span', { class: 'kind' });
  readonly #title = el('bdi', { class: 'title' });
  readonly #state = el('span', { class: 'state' });
  readonly #body = el('div', { class: 'body' });
  #call: Fields = {};
  #isDue = false;
  #isAsked = false;

  /** It is not told yet what it is. */
  constructor() {
    this.element.append(el('summary', {}, this.#kind, this.#title, this.#state), this.#body);
    this.element.addEventListener('toggle', () => this.#showSoon());
  }

  /** What was told of it so far. */
  get call(): Fields {
    return this.#call;
  }

  /** What a `tool_call` or `tool_call_update` says; what it leaves out stays as it is. */
  update(call: Fields): void {
    const told = Object.entries(call).filter(([, value]) => value !== undefined && value !== null);
    const hadDiff = this.#hasDiff();
    this.#call = { ...this.#call, ...Object.fromEntries(told) };
    const { kind, title, status } = this.#call;
    this.#kind.replaceChildren(el('span', {}, textOf(kind) ?? 'tool'));
    this.#title.replaceChildren(el('span', {}, textOf(title) ?? ''));
    const state = textOf(status) ?? 'pending';
    this.#state.replaceChildren(el('span', {}, states[state] ?? state));
    this.element.dataset.state = state;
    if (!hadDiff && this.#hasDiff() && !this.#isAsked) this.element.open = true;
    if (this.element.open) this.#showSoon();
  }

  /** While the user is asked about the call, the card of the question shows it, and this is closed. */
  setAsked(isAsked: boolean): void {
    this.#isAsked = isAsked;
    if (isAsked) this.element.open = false;
    else if (this.#hasDiff()) this.element.open = true;
  }

  #hasDiff(): boolean {
    return listOf(this.#call.content).some(({ type }) => type === 'diff');
  }

  /** However often it changes, it is drawn once in a frame; what is closed is not drawn. */
  #showSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      if (this.element.open) this.#draw();
      else this.#body.replaceChildren();
    });
  }

  #draw(): void {
    const { content, rawInput, rawOutput, locations } = this.#call;
    const parts = listOf(content).map((each) => partView(each, this.#call));
    const command = commandOf(fieldsOf(rawInput));
    const paths = listOf(locations).flatMap(({ path }) => textOf(path) ?? []);
    const input = command === undefined ? [] : [wide('Command', { class: 'command' }, command)];
    const places =
      parts.length === 0 && paths.length > 0 ? [el('p', { class: 'path' }, paths.join('\n'))] : [];
    const output = parts.length > 0 ? parts : [outputView(rawOutput)].flatMap((each) => each ?? []);
    const all = [...input, ...places, ...output];
    this.#body.replaceChildren(...(all.length > 0 ? all : [el('p', { class: 'quiet' }, 'Nothing to show.')]));
  }
}

function commandOf({ command }: Fields): string | undefined {
  return Array.isArray(command) ? command.map(String).join(' ') : textOf(command);
}

function outputView(raw: unknown): HTMLElement | undefined {
  const { output, stdout, stderr } = fieldsOf(raw);
  const texts = [raw, output, stdout, stderr].flatMap((each) => textOf(each) ?? []);
  return texts.length === 0 ? undefined : wide('Output', {}, texts.join('\n'));
}

function partView(part: Fields, call: Fields): HTMLElement {
  if (part.type === 'content') return blockView(fieldsOf(part.content));
  if (part.type === 'diff') return diffView(part);
  if (part.type !== 'terminal') return blockView(part);
  // Output that an agent tells beside the terminal of another client.
  const told = fieldsOf(fieldsOf(call._meta).terminal_output);
  const text = textOf(told.data);
  if (text !== undefined) return wide('Output', {}, text);
  return (
    outputView(call.rawOutput) ??
    el('p', { class: 'quiet' }, 'A terminal of the client that has opened the session.')
  );
}

function diffView({ path, oldText, newText }: Fields): HTMLElement {
  const lines = diffOf(textOf(oldText) ?? '', textOf(newText) ?? '');
  const rows = lines.slice(0, maxDiffLines).map(({ kind, text }) => {
    const mark = { old: '-', new: '+', same: ' ', gap: ' ' }[kind];
    return el('div', { class: kind }, `${mark} ${text}`);
  });
  const rest = lines.length - rows.length;
  return el(
    'figure',
    { class: 'diff' },
    el('figcaption', { class: 'path' }, el('bdi', {}, textOf(path) ?? '')),
    wide('Changes', {}, el('div', { class: 'lines' }, ...rows)),
    rest > 0 ? el('p', { class: 'quiet' }, `${rest} more lines`) : undefined,
  );
}
