/** 30,000 updates of 8 kB for an editor that does not read: nothing is lost, and little memory is needed. */
import { askForFlood, startFlood } from '../support/flood';
import { residentBytes, untilIdle, writtenBytes } from '../support/processes';
import type { World } from '../support/world';

const mebibyte = 1024 * 1024;
const count = 30_000;
const lineBytes = 8_000;

describe('a flood', () => {
  let world: World;
  afterEach(() => world.end());

  test('waits at the agent while the editor does not read, and arrives in whole and in order', async () => {
    const flood = await startFlood();
    world = flood.world;
    const proxy = world.process.pid!;
    const idle = residentBytes(proxy).now;

    world.process.stdout.pause();
    const prompt = askForFlood(world, flood.sessionId, count, lineBytes);
    await untilIdle(proxy, flood.agentPid);
    const written = writtenBytes(flood.agentPid);
    const held = residentBytes(proxy).now - idle;
    const received = await readAll(world, prompt);

    // What is queued in the proxy, and what fits into the pipes and the processes at their ends.
    expect(written).toBeLessThan(16 * mebibyte);
    expect(held).toBeLessThan(64 * mebibyte);
    expect(received).toEqual({ updates: count, outOfPlace: [] });
    expect(residentBytes(proxy).peak - idle).toBeLessThan(64 * mebibyte);
  });
});

/** Reads until the prompt is answered: how many updates came, and which lines were not the next one. */
async function readAll(world: World, prompt: number): Promise<{ updates: number; outOfPlace: string[] }> {
  const { stdout } = world.process;
  const outOfPlace: string[] = [];
  let updates = 0;
  let rest = '';
  // A quarter of a gigabyte is not for the editor's inbox.
  stdout.removeAllListeners('data').setEncoding('utf8');
  await new Promise<void>((resolve) => {
    stdout.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      for (const line of lines) {
        if (line.startsWith(`{"jsonrpc":"2.0","id":${prompt},`)) resolve();
        else if (isUpdate(line, updates)) updates++;
        else outOfPlace.push(line.slice(0, 200));
      }
    });
    stdout.resume();
  });
  return { updates, outOfPlace };
}

/** Whether a line is the update with that number, as long as the agent's but for the session's id. */
function isUpdate(line: string, number: number): boolean {
  const uuidLength = 36;
  return (
    line.length === lineBytes - '\n'.length - 'flood'.length + uuidLength &&
    line.includes(`"text":"${number} x`) &&
    line.endsWith('xx"}}}}')
  );
}
