/* How long an empty prompt takes there and back. Contenders take turns in blocks of a few milliseconds. */
import { contenders } from '../contenders.mjs';
import { promptAnswer, promptLine } from '../messages.mjs';
import { quantile } from '../statistics.cjs';

const blocks = 12;
const tripsInBlock = 250;

/** Names of those that take part. */
export const names = Object.keys(contenders);

/** Each with its unit and the contender that the others are compared with. */
export const metrics = {
  'round trip, p50': { unit: 'µs', to: 'pipe' },
  'round trip, p99': { unit: 'µs', to: 'pipe' },
};

/** One round: figures by metric and contender. The first block of each is not counted. */
export async function round({ place, order, rotate }) {
  const running = {};
  const timesUs = Object.fromEntries(order.map((name) => [name, []]));
  try {
    for (const name of order) running[name] = await place.open(name);
    for (let block = 0; block <= blocks; block++) {
      for (const name of rotate(order, block)) {
        const times = await roundTrips(running[name], tripsInBlock);
        if (block > 0) timesUs[name].push(...times);
      }
    }
  } finally {
    await Promise.all(Object.values(running).map(({ client }) => client.stop()));
  }
  const at = (share) => Object.fromEntries(order.map((name) => [name, quantile(timesUs[name], share)]));
  return { 'round trip, p50': at(0.5), 'round trip, p99': at(0.99) };
}

/** That many round trips one after the other, in microseconds each. */
export async function roundTrips({ client, sessionId }, count) {
  const times = [];
  for (let trip = 0; trip < count; trip++) {
    const id = client.nextId();
    const line = promptLine(id, sessionId);
    const answered = client.awaitBytes(promptAnswer(id).length);
    const startedAt = performance.now();
    client.child.stdin.write(line);
    await answered;
    times.push((client.reachedAt - startedAt) * 1_000);
  }
  return times;
}
