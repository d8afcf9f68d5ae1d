/*
 * Round trips in a quiet session while the agent of another floods: both behind one `cai`, or behind a byte pipe
 * each. The client reads and searches all that comes in either case.
 */
import { builds } from '../contenders.mjs';
import { Fleet } from '../fleet.mjs';
import { orderLine, promptAnswer, promptLine } from '../messages.mjs';
import { quantile } from '../statistics.cjs';

/** What the other session's agent says until it is ended. */
const flood = { bytes: 300, isBatched: true, forMs: 600_000 };
const warmUpTrips = 20;
/** Until one of them is reached: round trips, or milliseconds. */
const limits = { quick: { trips: 500, ms: 1_500 }, full: { trips: 2_000, ms: 4_000 } };

/** Names of those that take part. */
export const names = ['direct', 'pipe', 'again', ...builds];

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  'quiet session beside a flood, p50': { unit: 'µs', to: 'pipe' },
  'quiet session beside a flood, p99': { unit: 'µs', to: 'pipe' },
};

/** One round: figures by metric and contender. */
export async function round({ place, order, isFull }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  for (const name of order) {
    const fleet = await Fleet.start(place, name, { sessions: 2, children: 2 });
    try {
      const times = await beside(fleet, isFull ? limits.full : limits.quick);
      figures['quiet session beside a flood, p50'][name] = quantile(times, 0.5);
      figures['quiet session beside a flood, p99'][name] = quantile(times, 0.99);
    } finally {
      await fleet.kill();
    }
  }
  return figures;
}

/** Times of round trips in microseconds. */
async function beside({ seats: [noisy, quiet] }, limit) {
  noisy.client.searchOn();
  noisy.client.child.stdin.write(orderLine(noisy.client.nextId(), noisy.sessionId, flood));
  const times = [];
  let endAt = Infinity;
  for (let trip = 0; times.length < limit.trips && performance.now() < endAt; trip++) {
    const id = quiet.client.nextId();
    const answered = quiet.client.awaitText(promptAnswer(id));
    const startedAt = performance.now();
    quiet.client.child.stdin.write(promptLine(id, quiet.sessionId));
    await answered;
    if (trip === warmUpTrips) endAt = performance.now() + limit.ms;
    if (trip >= warmUpTrips) times.push((quiet.client.reachedAt - startedAt) * 1_000);
  }
  return times;
}
