import type { Call } from '../../src/relay/call';
import { HeldCalls, WaitingRoom } from '../../src/calls/waiting-calls';

/** A call with a line of so many bytes. */
function callOf(bytes: number): Call {
  return { message: { line: Buffer.alloc(bytes) } } as unknown as Call;
}

describe('held calls', () => {
  test('are taken out once, in their order', () => {
    const held = new HeldCalls(new WaitingRoom(1_000_000));
    const calls = [callOf(1), callOf(2), callOf(3)];

    for (const call of calls) expect(held.add(call)).toBe(true);

    expect(held.takeAll()).toEqual(calls);
    expect(held.takeAll()).toEqual([]);
  });

  test('of all sessions together find no more room than there is, until some are taken out', () => {
    const room = new WaitingRoom(10_000);
    const [one, other] = [new HeldCalls(room), new HeldCalls(room)];

    expect(one.add(callOf(5_000))).toBe(true);
    expect(other.add(callOf(5_000))).toBe(false);
    expect(other.add(callOf(2_000))).toBe(true);
    one.takeAll();
    expect(other.add(callOf(5_000))).toBe(true);
  });

  test('find room for one, however large it is, where nothing waits', () => {
    const room = new WaitingRoom(1_024);
    const [one, other] = [new HeldCalls(room), new HeldCalls(room)];

    expect(one.add(callOf(100_000))).toBe(true);
    expect(other.add(callOf(0))).toBe(false);
    one.takeAll();
    expect(other.add(callOf(1))).toBe(true);
  });

  test('without a byte in them take room too', () => {
    const held = new HeldCalls(new WaitingRoom(10_240));

    const added = Array.from({ length: 11 }, () => held.add(callOf(0)));

    expect(added.lastIndexOf(true)).toBe(9);
  });
});
