/** The chosen message: what is known of it, its turn, and all of its text. */
import { button, el, type Child, wide } from '../dom';
import { indented, redactedPlaces } from './json-text';
import type { Turn } from './recording';
import type { Row } from './row';
import { countText, durationText, sizeText, timeText, wayOf, whatOf } from './words';

/** Tool calls, permissions and places that are listed; of more the number is told. */
const maxListed = 200;
/** As the recorder writes it. */
const redactedText = '<redacted>';

/** What is shown of a message. */
export interface Chosen {
  readonly row: Row;
  readonly turn: Turn | undefined;
  /** When the recording began, ISO 8601. */
  readonly startedAt: string;
  /** Its text, and how long that is in full, in characters. */
  readonly text: string;
  readonly length: number;
}

/** The parts of the panel. `goTo` chooses another line. */
export function detailsOf(chosen: Chosen, goTo: (line: number) => void): readonly HTMLElement[] {
  const { row, turn, text, length } = chosen;
  const places = row.redacted > 0 ? redactedPlaces(text, redactedText) : [];
  const parts = [
    el('h2', {}, whatOf(row)),
    factsOf(chosen),
    el('div', { class: 'buttons' }, ...waysOn(row, turn, goTo)),
    list(
      'Redacted',
      row.redacted,
      places.map((place) => [el('code', {}, place)]),
    ),
    turn && turnView(turn, goTo),
    wide('Text of the message', {}, indented(text)),
    length > text.length
      ? el('p', { class: 'quiet' }, `The first ${countText(text.length)} of ${countText(length)} characters.`)
      : undefined,
  ];
  return parts.filter((each) => each !== undefined);
}

function factsOf({ row, startedAt }: Chosen): HTMLElement {
  const { ms, id, session, child, size, tookMs, line, kind, other } = row;
  const began = Date.parse(startedAt);
  const clock = ms === undefined || Number.isNaN(began) ? '' : new Date(began + ms).toLocaleTimeString();
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Way', wayOf(row)],
    ['Time', ms === undefined ? undefined : `${timeText(ms)} s after the start${clock && `, at ${clock}`}`],
    [
      'Took',
      tookMs !== undefined
        ? durationText(tookMs)
        : kind === 'request' && other === undefined
          ? 'no answer'
          : undefined,
    ],
    ['Id', id],
    ['Session', session],
    ['Agent', child === undefined ? undefined : String(child)],
    ['Size', size === undefined ? undefined : sizeText(size)],
    ['Line', String(line)],
  ];
  return el(
    'dl',
    {},
    ...facts.flatMap(([name, value]) =>
      value === undefined || value === '' ? [] : [el('dt', {}, name), el('dd', {}, value)],
    ),
  );
}

function waysOn(row: Row, turn: Turn | undefined, goTo: (line: number) => void): readonly Child[] {
  const { kind, other } = row;
  const prompt = turn?.prompt.line;
  return [
    other === undefined
      ? undefined
      : button(kind === 'request' ? 'Its answer' : 'Its request', () => goTo(other)),
    prompt === undefined || prompt === row.line ? undefined : button('Its prompt', () => goTo(prompt)),
  ];
}

function turnView({ prompt, answer, tools, permissions }: Turn, goTo: (line: number) => void): HTMLElement {
  const took = prompt.tookMs === undefined ? 'not over' : durationText(prompt.tookMs);
  const end =
    answer === undefined ? '' : `, ended with ${answer.isError ? 'an error: ' : ''}${answer.text ?? ''}`;
  return el(
    'section',
    { 'aria-label': 'Turn' },
    el('h3', {}, 'Turn'),
    el('p', {}, `${took}${end}`),
    list(
      'Tool calls',
      tools.length,
      tools.map(({ row, title, status, endMs }) => [
        button(title, () => goTo(row.line), 'link'),
        el('small', {}, ` ${status}, ${durationText(endMs - (row.ms ?? 0))}`),
      ]),
    ),
    list(
      'Permissions',
      permissions.length,
      permissions.map(({ text, method = '', line, tookMs }) => [
        button(text ?? method, () => goTo(line), 'link'),
        el('small', {}, tookMs === undefined ? ' no answer' : ` answered after ${durationText(tookMs)}`),
      ]),
    ),
  );
}

/** Undefined where the count is 0. */
function list(name: string, count: number, items: readonly (readonly Child[])[]): HTMLElement | undefined {
  if (count === 0) return undefined;
  const shown = items.slice(0, maxListed).map((each) => el('li', {}, ...each));
  if (items.length > maxListed)
    shown.push(el('li', { class: 'quiet' }, `and ${items.length - maxListed} more`));
  return el('section', {}, el('h3', {}, `${name}: ${countText(count)}`), el('ul', {}, ...shown));
}
