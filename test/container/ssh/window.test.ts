import { heedWindow } from '../../../src/container/ssh/window';

/** A channel, as ssh2 counts on it, and how often it was told of as overfilled. */
function heeded(room: number) {
  const incoming = { window: room };
  let excesses = 0;
  heedWindow({ incoming }, () => excesses++);
  return { incoming, excesses: () => excesses };
}

test('what fits is counted as before, to the last byte', () => {
  const { incoming, excesses } = heeded(10);

  incoming.window -= 4;
  incoming.window += 2;
  incoming.window -= 8;

  expect([incoming.window, excesses()]).toEqual([0, 0]);
});

test('what does not fit is told, and leaves no room', () => {
  const { incoming, excesses } = heeded(10);

  incoming.window -= 11;

  expect([incoming.window, excesses()]).toEqual([0, 1]);
});
