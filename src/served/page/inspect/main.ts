/** The page of `cai inspect`: reads the recording, and shows what is chosen of it. */
import { byId, el } from '../dom';
import { signIn } from '../server';
import { detailsOf } from './details';
import { drawLanes } from './lanes';
import { drawPlots, sumsOf } from './plots';
import { kinds, Recording, type Connection, type Filter } from './recording';
import { RowList } from './row-list';
import type { Row } from './row';
import { messageOf, nextRows, open, search, type About } from './source';
import { amountText, countText, durationText } from './words';

/** How long the page waits before it asks again what was added, in milliseconds. */
const pauseMs = 1_000;

/** While a long recording is read, it is drawn again each time that it has grown by so much. */
const growth = 1.3;

const recording = new Recording();
const list = new RowList({ choose: (row) => void showDetails(row), open: () => byId('details').focus() });
const connection = byId('connection') as HTMLSelectElement;
const kind = byId('kind') as HTMLSelectElement;
const text = byId('text') as HTMLInputElement;
let about: About;
let session: string | undefined;
let grouping: 'workspace' | 'agent' = 'workspace';
/** What is searched, and how far. */
let searching: { text: string; at: number; line: number; found: Set<number>; isOver: boolean } | undefined;
let chosenLine = 0;

void start();

async function start(): Promise<void> {
  byId('messages').append(list.element);
  kind.append(...Object.keys(kinds).map((each) => el('option', {}, each)));
  showConnections();
  for (const each of [connection, kind]) each.addEventListener('change', () => showFiltered());
  connection.addEventListener('change', () => {
    session = undefined;
    showAll();
  });
  byId('filters').addEventListener('submit', (event) => {
    event.preventDefault();
    void beginSearch();
  });
  text.addEventListener('input', () => {
    if (text.value === '') void beginSearch();
  });
  byId('details').addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') list.element.focus();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    text.focus();
  });
  const hint = 'Choose a message: click it, or use the arrow keys in the list, then Enter.';
  byId('details').replaceChildren(el('p', { class: 'quiet' }, hint));
  await unlessFailed(read);
}

/** Shows why something could not be done; what is shown stays. */
async function unlessFailed(action: () => Promise<void>): Promise<void> {
  const problem = byId('problem');
  try {
    problem.hidden = true;
    await action();
  } catch (reason) {
    problem.textContent = reason instanceof Error ? reason.message : 'Something went wrong.';
    problem.hidden = false;
  }
}

async function read(): Promise<void> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket');
  if (ticket !== null) {
    history.replaceState(null, '', location.pathname);
    await signIn({ ticket });
  }
  about = await open();
  const { name, agent, cai, at } = about;
  byId('about').replaceChildren(
    el('bdi', {}, name),
    `: ${agent}, recorded ${new Date(at).toLocaleString()} by cai ${cai}`,
  );
  byId('filters').hidden = false;
  let shownCount = -1;
  for (;;) {
    const { rows, isEnd, read: done, size } = await nextRows(about);
    recording.add(rows);
    const count = recording.rows.length;
    byId('progress').textContent = isEnd ? '' : `${Math.floor((done / Math.max(size, 1)) * 100)} % read`;
    if (isEnd ? count !== shownCount : count > shownCount * growth) {
      showAll();
      shownCount = count;
    }
    if (isEnd && rows.length > 0 && searching?.isOver === true) void unlessFailed(goOnSearching);
    if (isEnd && !about.isLive) return;
    if (isEnd) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

async function beginSearch(): Promise<void> {
  const wanted = text.value;
  const start = { at: about.start, line: 2, found: new Set<number>(), isOver: true };
  searching = wanted === '' ? undefined : { text: wanted, ...start };
  showFiltered();
  if (searching !== undefined) await unlessFailed(goOnSearching);
}

/** Searches what was not searched yet, until another search begins. */
async function goOnSearching(): Promise<void> {
  const own = searching!;
  own.isOver = false;
  try {
    for (let isEnd = false; !isEnd && searching === own;) {
      const next = await search(own.text, own.at, own.line);
      for (const line of next.lines) own.found.add(line);
      ({ at: own.at, line: own.line, isEnd } = next);
      if (searching === own) showFiltered();
    }
  } finally {
    own.isOver = true;
  }
  if (searching === own) showFiltered();
}

function filter(): Filter {
  const { value } = connection;
  const chosen: Connection = value === 'editor' || value === 'all' ? value : Number(value);
  return { connection: chosen, kind: kind.value, session, found: searching?.found };
}

function showConnections(): void {
  const known = [...connection.options].map(({ value }) => value);
  const wanted = [
    ['editor', 'of the editor'],
    ...[...recording.children].map((each) => [String(each), `of agent ${each}`]),
    ['all', 'all of them'],
  ] as const;
  if (wanted.length === known.length) return;
  const { value } = connection;
  connection.replaceChildren(...wanted.map(([each, name]) => el('option', { value: each }, name)));
  connection.value = value === '' ? 'editor' : value;
}

function showAll(): void {
  showConnections();
  showFiltered();
  showOverview();
}

function showFiltered(): void {
  const rows = recording.shown(filter());
  list.show(rows, about.isLive);
  const { damaged, redactedRows, redactedValues } = recording;
  const found = searching === undefined ? '' : searching.isOver ? ' found' : ' found so far';
  const all = recording.rows.length;
  const facts = [
    `${amountText(rows.length, 'message')}${found}${rows.length === all ? '' : ` of ${amountText(all, 'line')}`}`,
    redactedRows === 0
      ? ''
      : `redacted: ${amountText(redactedValues, 'value')} in ${amountText(redactedRows, 'message')}`,
    damaged.length === 0 ? '' : `damaged: ${damagedText(damaged)}`,
  ];
  byId('state').textContent = facts.filter((each) => each !== '').join('; ');
}

function damagedText(rows: readonly Row[]): string {
  const lines = rows.slice(0, 5).map(({ line }) => line);
  const rest = rows.length - lines.length;
  return `line ${lines.join(', ')}${rest > 0 ? ` and ${countText(rest)} more` : ''}`;
}

function showOverview(): void {
  const { rows, lastMs } = recording;
  const lanes = drawLanes(recording.lanes(filter().connection), session, lastMs, {
    choose: (chosen) => {
      session = chosen;
      showFiltered();
      showOverview();
      byId('overview').querySelector<HTMLElement>(`[aria-pressed=true]`)?.focus();
    },
    goTo: ({ line }) => goTo(line),
  });
  const by = el(
    'select',
    { 'aria-label': 'Tokens and cost by' },
    ...(['workspace', 'agent'] as const).map((each) =>
      el('option', { value: each, selected: each === grouping }, `by ${each}`),
    ),
  );
  by.addEventListener('change', () => {
    grouping = by.value as typeof grouping;
    showOverview();
    byId('overview').querySelector('select')?.focus();
  });
  const plots = drawPlots(sumsOf(rows, grouping, about.agent), grouping, lastMs);
  byId('overview').replaceChildren(
    el('section', {}, el('h2', {}, 'Sessions', el('small', {}, ` over ${durationText(lastMs)}`)), lanes),
    el('section', {}, el('h2', {}, 'Tokens and cost ', by), plots),
  );
}

/** Chooses a line; what hides it is shown again. */
function goTo(line: number): void {
  if (list.choose(line)) return;
  const row = recording.at(line);
  if (row === undefined) return;
  session = undefined;
  searching = undefined;
  text.value = '';
  kind.selectedIndex = 0;
  if (row.side !== undefined) connection.value = row.child === undefined ? 'editor' : String(row.child);
  showAll();
  list.choose(line);
}

async function showDetails(row: Row): Promise<void> {
  chosenLine = row.line;
  await unlessFailed(async () => {
    const message = await messageOf(row);
    // Another one was chosen meanwhile.
    if (chosenLine !== row.line) return;
    const chosen = { row, turn: recording.turnOf(row), startedAt: about.at, ...message };
    byId('details').replaceChildren(...detailsOf(chosen, goTo));
    byId('details').scrollTop = 0;
  });
}
