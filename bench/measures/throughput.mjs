/*
 * Messages a second, and processor time of the contender for each, from one agent in one session and to it.
 * All contenders run at once and are idle but for the one whose turn it is.
 */
import { contenders } from '../contenders.mjs';
import { cpuUs } from '../process-stats.mjs';
import { orderLine, promptAnswer, promptLine, sizes, updatesBytes } from '../messages.mjs';

/** Bytes of one write of a client or agent that writes in batches. */
const batchBytes = 64 * 1024;
/** How long one figure is measured, in milliseconds. */
const timedMs = { quick: 50, full: 120 };
/** What is held of prompts at once, and said of updates, in bytes. */
const maxBytes = 400e6;
/** How many prompts are open at once: `cai` refuses those above 10,000. */
const maxPrompts = 9_000;

/** Messages before that, whose rate tells how many to time. */
const probeCounts = { '60 B': 4_000, '300 B': 4_000, '4 kB': 1_000, '20 kB': 200, '1 MB': 4 };

const kinds = ['to editor, each', 'to editor, batches', 'to agent, each', 'to agent, batches'];
const cells = kinds.flatMap((kind) =>
  Object.keys(sizes).map((size) => ({ kind, size, name: `${kind}, ${size}` })),
);

/** Lines that differ. */
const averaged = 64;

/** Names of those that take part. */
export const names = Object.keys(contenders);

/** Each with its unit and the contender that the others are compared with. */
export const metrics = Object.fromEntries(
  cells.flatMap(({ kind, size, name }) => [
    [name, { unit: 'messages/s', to: 'pipe', lineBytes: lineBytes(kind, sizes[size]) }],
    [`processor time, ${name}`, { unit: 'µs/message', to: 'pipe' }],
  ]),
);

/** On average. */
function lineBytes(kind, bytes) {
  if (kind.startsWith('to editor')) return updatesBytes(bytes, averaged) / averaged;
  const lines = Array.from({ length: averaged }, (_, id) => promptLine(id, ' '.repeat(36), bytes));
  return Buffer.byteLength(lines.join('')) / averaged;
}

/** One round: figures by metric and contender. */
export async function round({ place, order, rotate, isFull }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  const running = {};
  try {
    for (const name of order) running[name] = await place.open(name);
    // All of it before any of it is timed: in a process of hours, what is hot is compiled.
    for (const name of order) for (const cell of cells) await runFor(running[name], cell, timedMs.quick);
    for (const [index, cell] of cells.entries()) {
      for (const name of rotate(order, index)) {
        const ms = isFull ? timedMs.full : timedMs.quick;
        const { perSecond, usEach } = await runFor(running[name], cell, ms);
        figures[cell.name][name] = perSecond;
        if (name !== 'direct') figures[`processor time, ${cell.name}`][name] = usEach;
      }
    }
  } finally {
    await Promise.all(Object.values(running).map(({ client }) => client.stop()));
  }
  return figures;
}

/** About that long, once the rate is known. */
async function runFor(contender, cell, ms) {
  const probe = await run(contender, cell, probeCounts[cell.size]);
  const wanted = (probe.perSecond * ms) / 1_000;
  const most = Math.min(
    maxBytes / sizes[cell.size],
    cell.kind.startsWith('to agent') ? maxPrompts : Infinity,
  );
  return await run(contender, cell, Math.ceil(Math.max(4, Math.min(wanted, most))));
}

async function run({ client, sessionId }, { kind, size }, count) {
  const [direction, writes] = kind.split(', ');
  const isBatched = writes === 'batches';
  const job =
    direction === 'to editor'
      ? updates(client, sessionId, { count, bytes: sizes[size], isBatched })
      : prompts(client, sessionId, { count, bytes: sizes[size], isBatched });
  const cpuBefore = cpuUs(client.pid);
  const done = client.awaitBytes(job.bytes);
  const startedAt = performance.now();
  await client.send(job.pieces);
  await done;
  const tookMs = client.reachedAt - startedAt;
  return { perSecond: (count / tookMs) * 1_000, usEach: (cpuUs(client.pid) - cpuBefore) / count };
}

/** What to send for that many updates, and how many bytes come back. */
function updates(client, sessionId, order) {
  const id = client.nextId();
  const bytes = updatesBytes(order.bytes, order.count) + promptAnswer(id).length;
  return { pieces: [orderLine(id, sessionId, order)], bytes };
}

/** The same for prompts, which the agent answers at once. */
function prompts(client, sessionId, { count, bytes, isBatched }) {
  const ids = Array.from({ length: count }, () => client.nextId());
  const lines = ids.map((id) => promptLine(id, sessionId, bytes));
  const answerBytes = ids.reduce((sum, id) => sum + promptAnswer(id).length, 0);
  return {
    pieces: isBatched ? batchesOf(lines) : lines.map((line) => Buffer.from(line)),
    bytes: answerBytes,
  };
}

function batchesOf(lines) {
  const all = Buffer.from(lines.join(''));
  const count = Math.ceil(all.length / batchBytes);
  return Array.from({ length: count }, (_, index) =>
    all.subarray(index * batchBytes, (index + 1) * batchBytes),
  );
}
