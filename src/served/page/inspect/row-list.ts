/** A list of any number of rows, of which only those in view are in the document. One of them is chosen. */
import { el } from '../dom';
import type { Row } from './row';
import { durationText, sizeText, timeText, wayOf, whatOf } from './words';

/** The height that `inspect.css` gives to a row, in pixels. */
const rowHeight = 28;
/** Rows beyond the edges of the view. */
const spare = 12;
/** Browsers cut elements that are higher, in pixels: then a step of the scroll bar is more than one. */
const maxHeight = 8_000_000;

const columns = ['Time', 'From → to', 'Message', 'Text', 'Session', 'Size', 'Took'];

export class RowList {
  readonly element: HTMLElement;
  readonly #box = el('div', { class: 'rows', role: 'rowgroup', tabindex: '-1' });
  readonly #space = el('div', { role: 'presentation' });
  readonly #view = el('div', { class: 'view', role: 'presentation' });
  #rows: readonly Row[] = [];
  /** Place of the chosen row; -1: none. */
  #chosen = -1;
  #isDue = false;

  /** `choose` is told of the row that is chosen; `open`, of one that is to be read. */
  constructor(private readonly ports: { readonly choose: (row: Row) => void; readonly open: () => void }) {
    const head = el('div', { role: 'row', class: 'row head', 'aria-rowindex': '1' });
    head.append(...columns.map((name) => el('span', { role: 'columnheader' }, name)));
    const attributes = { 'aria-label': 'Messages', 'aria-colcount': String(columns.length), tabindex: '0' };
    this.#space.append(this.#view);
    this.#box.append(this.#space);
    this.element = el('div', { role: 'grid', class: 'list', ...attributes }, head, this.#box);
    this.#box.addEventListener('scroll', () => this.#draw(), { passive: true });
    new ResizeObserver(() => this.#draw()).observe(this.#box);
    this.element.addEventListener('keydown', (event) => this.#key(event));
    this.element.addEventListener('click', ({ target }) => {
      const place = (target as Element).closest<HTMLElement>('[data-place]')?.dataset.place;
      if (place !== undefined) this.#choose(Number(place));
      this.element.focus();
    });
  }

  /** Shows these; the chosen row stays chosen. Who was at the end and follows what grows stays there. */
  show(rows: readonly Row[], isFollowing: boolean): void {
    const { scrollHeight, scrollTop, clientHeight } = this.#box;
    const wasAtEnd = scrollHeight - scrollTop - clientHeight < rowHeight;
    const line = this.#rows[this.#chosen]?.line;
    this.#rows = rows;
    this.#chosen = line === undefined ? -1 : rows.findIndex((row) => row.line === line);
    this.element.setAttribute('aria-rowcount', String(rows.length + 1));
    this.#space.style.height = `${Math.min(rows.length * rowHeight, maxHeight)}px`;
    if (isFollowing && wasAtEnd) this.#box.scrollTop = this.#box.scrollHeight;
    this.#draw();
  }

  /** Chooses a row and scrolls to it; false: it is not in the list. */
  choose(line: number): boolean {
    const place = this.#rows.findIndex((row) => row.line === line);
    if (place < 0) return false;
    this.#choose(place);
    return true;
  }

  /** Where the view begins, in pixels of a list that is not cut. */
  get #top(): number {
    const { scrollTop, clientHeight } = this.#box;
    const cut = Math.min(this.#rows.length * rowHeight, maxHeight) - clientHeight;
    const whole = this.#rows.length * rowHeight - clientHeight;
    return cut <= 0 ? 0 : (scrollTop / cut) * whole;
  }

  #scrollTo(top: number): void {
    const { clientHeight } = this.#box;
    const cut = Math.min(this.#rows.length * rowHeight, maxHeight) - clientHeight;
    const whole = this.#rows.length * rowHeight - clientHeight;
    this.#box.scrollTop = whole <= 0 ? 0 : (top / whole) * cut;
  }

  #choose(place: number): void {
    const at = Math.max(Math.min(place, this.#rows.length - 1), 0);
    const row = this.#rows[at];
    if (row === undefined) return;
    this.#chosen = at;
    const { clientHeight } = this.#box;
    const top = this.#top;
    if (at * rowHeight < top) this.#scrollTo(at * rowHeight);
    else if ((at + 1) * rowHeight > top + clientHeight) this.#scrollTo((at + 1) * rowHeight - clientHeight);
    this.#drawNow();
    this.ports.choose(row);
  }

  #key(event: KeyboardEvent): void {
    const page = Math.max(Math.floor(this.#box.clientHeight / rowHeight) - 1, 1);
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (step !== undefined) this.#choose(this.#chosen < 0 && step === 1 ? 0 : this.#chosen + step);
    else if (event.key === 'Enter' && this.#chosen >= 0) this.ports.open();
    else return;
    event.preventDefault();
  }

  /** At most once in a frame. */
  #draw(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => this.#drawNow());
  }

  #drawNow(): void {
    this.#isDue = false;
    const top = this.#top;
    const first = Math.max(Math.floor(top / rowHeight) - spare, 0);
    const count = Math.ceil(this.#box.clientHeight / rowHeight) + 2 * spare;
    const rows = this.#rows.slice(first, first + count);
    this.#view.replaceChildren(...rows.map((row, index) => this.#element(row, first + index)));
    this.#view.style.transform = `translateY(${this.#box.scrollTop - (top - first * rowHeight)}px)`;
    const chosen = this.#rows[this.#chosen];
    if (chosen !== undefined && rows.includes(chosen))
      this.element.setAttribute('aria-activedescendant', idOf(chosen));
    else this.element.removeAttribute('aria-activedescendant');
  }

  #element(row: Row, place: number): HTMLElement {
    const { ms, text, session, size, tookMs, kind, other } = row;
    const took =
      tookMs !== undefined ? durationText(tookMs) : kind === 'request' && other === undefined ? '…' : '';
    const cells: readonly [name: string, text: string][] = [
      ['time', ms === undefined ? '' : timeText(ms)],
      ['way', wayOf(row)],
      ['what', whatOf(row)],
      ['text', text ?? ''],
      ['session', session ?? ''],
      ['size', size === undefined ? '' : sizeText(size)],
      ['took', took],
    ];
    const element = el('div', {
      role: 'row',
      class: classOf(row),
      id: idOf(row),
      'aria-rowindex': String(place + 2),
      'aria-selected': String(place === this.#chosen),
      'data-place': String(place),
    });
    element.append(
      ...cells.map(([name, each]) => el('span', { role: 'gridcell', class: name, dir: 'auto' }, each)),
    );
    if (row.redacted > 0) element.children[3]!.prepend(el('span', { class: 'mark' }, 'redacted'), ' ');
    return element;
  }
}

function idOf({ line }: Row): string {
  return `line-${line}`;
}

function classOf({ kind, isError, side, method }: Row): string {
  if (isError || kind === 'defect' || kind === 'damaged') return 'row bad';
  if (kind === 'event') return 'row event';
  if (method === 'session/request_permission') return 'row asks';
  return side?.startsWith('from') === true ? 'row in' : 'row out';
}
