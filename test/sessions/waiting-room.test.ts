import type { Call } from '../../src/sessions/call';
import { WaitingRoom } from '../../src/sessions/waiting-room';

/** A call with a line of so many bytes. */
function callOf(bytes: number): Call {
  return { message: { line: Buffer.alloc(bytes) } } as unknown as Call;
}

describe('a room for 10 000 bytes', () => {
  test('has no more room than that until some leave', () => {
    const room = new WaitingRoom(10_000);

    expect(room.take(callOf(5_000))).toBe(true);
    expect(room.take(callOf(5_000))).toBe(false);
    expect(room.take(callOf(2_000))).toBe(true);
    room.leave(callOf(5_000));

    expect(room.take(callOf(5_000))).toBe(true);
  });

  test('has room for a single call, however large it is', () => {
    const room = new WaitingRoom(10_000);

    expect(room.take(callOf(100_000))).toBe(true);
    expect(room.take(callOf(0))).toBe(false);
    room.leave(callOf(100_000));

    expect(room.take(callOf(1))).toBe(true);
  });

  test('has room for nine calls without a byte in them', () => {
    const room = new WaitingRoom(10_000);

    expect(Array.from({ length: 11 }, () => room.take(callOf(0))).lastIndexOf(true)).toBe(8);
  });
});
