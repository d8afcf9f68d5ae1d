/** Sessions as lanes over time: how many messages passed, turns, waits for a permission, errors. */
import { el } from '../dom';
import { shown } from '../fields';
import { drawing, shape, width } from './drawing';
import type { Lane } from './recording';
import type { Row } from './row';
import { amountText, countText } from './words';

const height = 28;
/** Bars in a lane. */
const bars = 250;
/** More sessions are not drawn. */
const maxLanes = 200;
/** Calls that open a session; their text is its folder. */
const opening = /^session\/(?:new|load|resume|fork)$/;
/** Least width that is seen, in units of a drawing. */
const minWidth = 2;

/** Draws all lanes again; a lane that is chosen is told to `choose`, a moment in one to `goTo`. */
export function drawLanes(
  lanes: readonly Lane[],
  chosen: string | undefined,
  lastMs: number,
  ports: {
    readonly choose: (session: string | undefined) => void;
    readonly goTo: (row: Row) => void;
  },
): HTMLElement {
  const items = lanes.slice(0, maxLanes).map((lane) => {
    const { session, rows } = lane;
    const turns = rows.filter(({ method, kind }) => method === 'session/prompt' && kind === 'request').length;
    const cwd = rows.find(({ method, kind }) => opening.test(method ?? '') && kind === 'request')?.text;
    const folder = cwd?.split('/').slice(-1) ?? [];
    const name = session === '' ? 'without a session' : session;
    const isChosen = session === chosen;
    const button = el(
      'button',
      { type: 'button', 'aria-pressed': String(isChosen), title: shown(name) },
      el('span', { class: 'title' }, name),
      el('small', {}, [...folder, amountText(rows.length, 'message'), amountText(turns, 'turn')].join(', ')),
    );
    button.addEventListener('click', () => ports.choose(isChosen ? undefined : session));
    const picture = drawLane(lane, lastMs);
    picture.addEventListener('click', (event) => {
      const { left, width: shownWidth } = picture.getBoundingClientRect();
      const ms = ((event.clientX - left) / shownWidth) * lastMs;
      const row = rows.find((each) => (each.ms ?? 0) >= ms) ?? rows.at(-1);
      if (row !== undefined) ports.goTo(row);
    });
    return el('li', {}, button, picture);
  });
  const rest = lanes.length - items.length;
  if (rest > 0) items.push(el('li', { class: 'quiet' }, `and ${countText(rest)} more sessions`));
  return el('ul', { class: 'lanes' }, ...items);
}

function drawLane({ rows }: Lane, lastMs: number): SVGElement {
  const x = (ms: number): number => Math.round((ms / Math.max(lastMs, 1)) * width);
  const counts = new Array<number>(bars).fill(0);
  const errors = new Set<number>();
  const spans: SVGElement[] = [];
  for (const { ms = 0, method, kind, isError, tookMs } of rows) {
    counts[Math.min(Math.floor((ms / Math.max(lastMs, 1)) * bars), bars - 1)]!++;
    if (isError || kind === 'defect' || kind === 'damaged') errors.add(x(ms));
    const isSpan = method === 'session/prompt' || method === 'session/request_permission';
    if (kind !== 'request' || !isSpan || spans.length > bars) continue;
    const end = x(tookMs === undefined ? lastMs : ms + tookMs);
    const form = { x: x(ms), width: Math.max(end - x(ms), minWidth) };
    spans.push(
      method === 'session/prompt'
        ? shape('rect', { class: 'turn', y: 0, height, ...form })
        : shape('rect', { class: 'wait', y: height - 5, height: 5, ...form }),
    );
  }
  const most = Math.max(...counts, 1);
  const path = counts.map((count, index) => {
    const size = count === 0 ? 0 : 2 + (Math.log1p(count) / Math.log1p(most)) * (height - 8);
    return size === 0
      ? ''
      : `M${index * (width / bars)} ${height - 5}v-${size.toFixed(1)}h3v${size.toFixed(1)}z`;
  });
  const turns = spans.filter((each) => each.getAttribute('class') === 'turn');
  const waits = spans.filter((each) => each.getAttribute('class') === 'wait');
  const marks = [...errors].slice(0, bars).map((at) => `M${at} 0v${height}`);
  return drawing(
    height,
    ...turns,
    shape('path', { class: 'count', d: path.join('') }),
    ...waits,
    shape('path', { class: 'fault', d: marks.join('') }),
  );
}
