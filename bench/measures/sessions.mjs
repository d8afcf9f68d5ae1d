/*
 * How it grows with sessions: all of them are told things at once, by one agent or by several, through one
 * `cai` or through a byte pipe for each agent; and a round trip in one of them while the others are quiet.
 */
import { builds } from '../contenders.mjs';
import { Fleet } from '../fleet.mjs';
import { orderLine, promptAnswer, updatesBytes } from '../messages.mjs';
import { cpuUs } from '../process-stats.mjs';
import { median } from '../statistics.cjs';
import { roundTrips } from './roundtrip.mjs';

const shapes = [
  { sessions: 1, children: 1 },
  { sessions: 10, children: 10 },
  { sessions: 100, children: 20 },
];
const bytes = 300;
/** Updates of all sessions together: before, and timed. */
const warmUpCount = 20_000;
const timedMs = { quick: 100, full: 200 };
const trips = 300;

const title = ({ sessions, children }) =>
  children === 1 ? '1 session' : `${sessions} sessions over ${children} agents`;

/** Names of those that take part. */
export const names = ['pipe', 'again', ...builds];

/** Each with its unit and the contender that the others are compared with. */
export const metrics = Object.fromEntries(
  shapes.flatMap((shape) => [
    [`updates of 300 B in batches, ${title(shape)}`, { unit: 'messages/s', to: 'pipe' }],
    [`processor time of these, ${title(shape)}`, { unit: 'µs/message', to: 'pipe' }],
    [`round trip p50, ${title(shape)}`, { unit: 'µs', to: 'pipe' }],
  ]),
);

/** One round: figures by metric and contender. */
export async function round({ place, order, isFull }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  for (const shape of shapes) {
    for (const name of order) {
      const fleet = await Fleet.start(place, name, shape);
      const { perSecond } = await updates(fleet, warmUpCount);
      const timed = await updates(fleet, (perSecond * (isFull ? timedMs.full : timedMs.quick)) / 1_000);
      const trip = median(await roundTrips(fleet.seats[0], trips));
      await fleet.stop();
      figures[`updates of 300 B in batches, ${title(shape)}`][name] = timed.perSecond;
      figures[`processor time of these, ${title(shape)}`][name] = timed.usEach;
      figures[`round trip p50, ${title(shape)}`][name] = trip;
    }
  }
  return figures;
}

/** About that many updates, shared out over all sessions. */
async function updates({ seats, clients, pids }, wanted) {
  const count = Math.ceil(wanted / seats.length);
  const order = { count, bytes, isBatched: true };
  const lines = new Map(clients.map((client) => [client, { text: '', bytes: 0 }]));
  for (const { client, sessionId } of seats) {
    const id = client.nextId();
    const due = lines.get(client);
    due.text += orderLine(id, sessionId, order);
    due.bytes += updatesBytes(bytes, count) + promptAnswer(id).length;
  }
  const cpuBefore = sumOf(pids.map(cpuUs));
  const startedAt = performance.now();
  await Promise.all(
    [...lines].map(([client, due]) => {
      const done = client.awaitBytes(due.bytes);
      client.child.stdin.write(due.text);
      return done;
    }),
  );
  const tookMs = Math.max(...clients.map(({ reachedAt }) => reachedAt)) - startedAt;
  const messages = count * seats.length;
  return { perSecond: (messages / tookMs) * 1_000, usEach: (sumOf(pids.map(cpuUs)) - cpuBefore) / messages };
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
