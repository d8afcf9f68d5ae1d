/*
 * What history costs. Many messages: how resident memory grows while one session is told ten million updates in a
 * full run, and whether a round trip in it takes longer afterwards. The messages are cut to what fits in the time
 * of a round; how many these were is a figure of its own. Many sessions: how much longer a start takes when `cai`
 * remembers as many of earlier processes as it ever does.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { initialize, newSession } from '../contenders.mjs';
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
/** Sessions of earlier processes. */
const rememberedCount = 50_000;
/** Starts of which the median counts, with these sessions and without, and sessions opened in each. */
const starts = 3;
const laterSessions = 20;

/** Names of those that take part. */
export const names = ['pipe', 'cai'];

/** Each with its unit. */
export const metrics = {
  'messages that these are': { unit: 'messages' },
  'memory, growth after many messages': { unit: 'MiB' },
  'round trip p50 after many messages': { unit: 'times before' },
  'initialize, 50,000 sessions remembered': { unit: 'times with none' },
  'first session/new, 50,000 sessions remembered': { unit: 'times with none' },
  'later session/new, 50,000 sessions remembered': { unit: 'times with none' },
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
  for (const [what, ratio] of Object.entries(await besideRemembered(place)))
    figures[`${what}, 50,000 sessions remembered`].cai = ratio;
  return figures;
}

/** What a start with many sessions in memory takes, as a ratio to one with none. */
async function besideRemembered(place) {
  const folder = place.workspace();
  // Its agent's answer is known from then on, so that neither start waits for it.
  await start(place, folder);
  const state = join(place.home, '.local/state/containai');
  const file = join(state, 'sessions.ndjson');
  const lines = rememberedLines(folder);
  const taken = { with: [], without: [] };
  for (let round = 0; round < starts; round++) {
    for (const which of round % 2 === 0 ? ['with', 'without'] : ['without', 'with']) {
      rmSync(file, { force: true });
      mkdirSync(state, { recursive: true });
      if (which === 'with') writeFileSync(file, lines, { mode: 0o600 });
      taken[which].push(await start(place, folder));
    }
  }
  const ratioOf = (what) => median(taken.with.map(what)) / median(taken.without.map(what));
  return {
    initialize: ratioOf((times) => times.initialize),
    'first session/new': ratioOf((times) => times.first),
    'later session/new': ratioOf((times) => times.later),
  };
}

/** How long `initialize`, the first session and, of the later ones, the median took, in milliseconds. */
async function start(place, folder) {
  const startedAt = performance.now();
  const client = place.start('cai', folder);
  const since = (before) => client.reachedAt - before;
  try {
    await initialize(client);
    const times = { initialize: since(startedAt), first: 0, later: 0 };
    const each = [];
    for (let session = 0; session <= laterSessions; session++) {
      const before = performance.now();
      await newSession(client, folder);
      each.push(since(before));
    }
    return { ...times, first: each[0], later: median(each.slice(1)) };
  } finally {
    await client.stop();
  }
}

/** As `cai` writes them. */
function rememberedLines(folder) {
  const at = new Date().toISOString();
  const record = (number) => ({
    id: `00000000-0000-5000-8000-${String(number).padStart(12, '0')}`,
    agent: 'bench',
    agentId: `earlier-${number}`,
    ...{ root: folder, cwd: folder, at, title: `What was asked in session ${number}`, updatedAt: at },
  });
  return Array.from({ length: rememberedCount }, (_, number) => `${JSON.stringify(record(number))}\n`).join(
    '',
  );
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
