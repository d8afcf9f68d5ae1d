/*
 * What many messages leave behind: how resident memory grows while one session is told ten million updates in a
 * full run, and whether a round trip in it takes longer afterwards. The messages are cut to what fits in the time
 * of a round; how many these were is a figure of its own.
 */
import { orderLine, promptAnswer, updatesBytes } from '../messages.mjs';
import { residentMiB } from '../process-stats.mjs';
import { median } from '../statistics.cjs';
import { roundTrips } from './roundtrip.mjs';

const order = { bytes: 300, isBatched: true };
/**
 * The memory is looked at all the time. Of each quarter the least counts, because garbage that waits for its
 * collection comes and goes; in the first quarter the heap finds its size.
 */
const quarters = 4;
const lookMs = 20;
/** One prompt each, in a quarter. */
const steps = 5;
const messages = { quick: 2_000_000, full: 10_000_000 };
/** For all steps of one contender, in milliseconds. */
const limitMs = { quick: 6_000, full: 60_000 };
/** Until then also a byte pipe grows. */
const warmUpCount = 300_000;
const trips = 1_000;

/** Names of those that take part. */
export const names = ['pipe', 'cai'];

/** It is run no more often than that. */
export const rounds = 5;

/** Each with its unit. */
export const metrics = {
  'messages that these are': { unit: 'messages' },
  'memory, growth after many messages': { unit: 'MiB' },
  'round trip p50 after many messages': { unit: 'times before' },
};

/** One round: figures by metric and contender. */
export async function round({ place, order: all, isFull }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  const [wanted, inMs] = isFull ? [messages.full, limitMs.full] : [messages.quick, limitMs.quick];
  for (const name of all) {
    const seat = await place.open(name);
    try {
      const perMs = warmUpCount / (await updates(seat, warmUpCount));
      const inStep = Math.floor(Math.min(wanted, perMs * inMs) / quarters / steps);
      const before = median(await roundTrips(seat, trips));
      const least = [];
      for (let quarter = 0; quarter < quarters; quarter++) least.push(await leastDuring(seat, inStep));
      figures['messages that these are'][name] = inStep * quarters * steps;
      figures['memory, growth after many messages'][name] = least.at(-1) - least[1];
      figures['round trip p50 after many messages'][name] = median(await roundTrips(seat, trips)) / before;
    } finally {
      await seat.client.kill();
    }
  }
  return figures;
}

/** The least resident memory during a quarter, in MiB. */
async function leastDuring(seat, inStep) {
  let least = Infinity;
  const look = setInterval(() => (least = Math.min(least, residentMiB(seat.client.pid))), lookMs);
  try {
    for (let step = 0; step < steps; step++) await updates(seat, inStep);
  } finally {
    clearInterval(look);
  }
  return Math.min(least, residentMiB(seat.client.pid));
}

/** Resolves with how long it took, in milliseconds. */
async function updates({ client, sessionId }, count) {
  const id = client.nextId();
  const startedAt = performance.now();
  const done = client.awaitBytes(updatesBytes(order.bytes, count) + promptAnswer(id).length);
  client.child.stdin.write(orderLine(id, sessionId, { ...order, count }));
  await done;
  return client.reachedAt - startedAt;
}
