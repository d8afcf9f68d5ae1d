/*
 * Resident memory of the contender's own process: idle, for each session and workspace, while an agent floods,
 * and with an editor that does not read. No garbage is collected for the occasion.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSession } from '../contenders.mjs';
import { orderLine, promptAnswer } from '../messages.mjs';
import { residentMiB } from '../process-stats.mjs';

/** How often a process is looked at, in milliseconds. */
const lookMs = 50;
/** Settled: no look of that many has differed by more, in MiB. */
const settledLooks = 6;
const settledMiB = 0.25;
/** Sessions whose growth is measured, from the second one on. */
const sessionsCounted = { quick: 1_000, full: 3_000 };
const workspaces = 10;
/** What an agent says in a flood, and to an editor that does not read: 29 MB. */
const flood = { bytes: 300, isBatched: true, forMs: 300 };
const unread = { bytes: 300, isBatched: true, count: 60_000 };

/** Names of those that take part. */
export const names = ['node', 'pipe', 'json', 'sdk', 'conductor', 'cai'];

/** Each with its unit. */
export const metrics = {
  'memory, idle with one session': { unit: 'MiB' },
  'memory, most in a flood': { unit: 'MiB' },
  'memory, more with an editor that does not read': { unit: 'MiB' },
  'memory, each session more': { unit: 'KiB' },
  'memory, each workspace more': { unit: 'KiB' },
};

/** One round: figures by metric and contender. */
export async function round({ place, order, isFull }) {
  const figures = Object.fromEntries(Object.keys(metrics).map((metric) => [metric, {}]));
  for (const name of order) {
    if (name === 'node') {
      figures['memory, idle with one session'].node = await bareNode();
      continue;
    }
    const idle = await within(place, name, ({ client }) => settled(client.pid));
    figures['memory, idle with one session'][name] = idle;
    figures['memory, most in a flood'][name] = await within(place, name, mostInFlood);
    figures['memory, more with an editor that does not read'][name] = await within(place, name, growthUnread);
  }
  figures['memory, each session more'].cai = await within(place, 'cai', (opened) =>
    eachSession(opened, isFull ? sessionsCounted.full : sessionsCounted.quick),
  );
  figures['memory, each workspace more'].cai = await within(place, 'cai', eachWorkspace);
  return figures;
}

async function bareNode() {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const resident = await settled(child.pid);
  child.stdin.end();
  await once(child, 'close');
  return resident;
}

/** Resident memory once it does not change any more. */
async function settled(pid) {
  for (let looks = []; ; looks = looks.slice(1 - settledLooks)) {
    looks.push(residentMiB(pid));
    if (looks.length >= settledLooks && Math.max(...looks) - Math.min(...looks) < settledMiB)
      return looks.at(-1);
    await sleep(lookMs);
  }
}

async function mostInFlood({ client, sessionId }) {
  const id = client.nextId();
  let most = 0;
  const look = setInterval(() => (most = Math.max(most, residentMiB(client.pid))), lookMs);
  const done = client.awaitText(promptAnswer(id));
  client.child.stdin.write(orderLine(id, sessionId, flood));
  await done.finally(() => clearInterval(look));
  return Math.max(most, residentMiB(client.pid));
}

/** How much it grows until it takes no more from the agent, or has taken all. */
async function growthUnread({ client, sessionId }) {
  const before = await settled(client.pid);
  client.child.stdout.pause();
  client.child.stdin.write(orderLine(client.nextId(), sessionId, unread));
  // Until it has begun.
  await sleep(4 * lookMs);
  return (await settled(client.pid)) - before;
}

/** In KiB. */
async function eachSession({ client, folder }, count) {
  const before = await settled(client.pid);
  for (let session = 0; session < count; session++) await newSession(client, folder);
  return (((await settled(client.pid)) - before) / count) * 1024;
}

/** In KiB, with a session and the pipes to its agent. */
async function eachWorkspace({ client, place }) {
  const before = await settled(client.pid);
  for (let workspace = 0; workspace < workspaces; workspace++) await newSession(client, place.workspace());
  return (((await settled(client.pid)) - before) / workspaces) * 1024;
}

/** What `look` finds in a contender that was started for it. */
async function within(place, name, look) {
  const folder = place.workspace();
  const opened = await place.open(name, folder);
  try {
    return await look({ ...opened, folder, place });
  } finally {
    await opened.client.kill();
  }
}
