import type { Call } from '../../../src/acp/sessions/call';
import { CallBudget } from '../../../src/acp/sessions/call-budget';

/** A call with a line of so many bytes. */
function callOf(bytes: number): Call {
  return { message: { line: Buffer.alloc(bytes) } } as unknown as Call;
}

describe('a budget of 10 000 bytes', () => {
  test('has no more room than that until some leave', () => {
    const budget = new CallBudget(10_000);

    expect(budget.take(callOf(5_000))).toBe(true);
    expect(budget.take(callOf(5_000))).toBe(false);
    expect(budget.take(callOf(2_000))).toBe(true);
    budget.giveBack(callOf(5_000));

    expect(budget.take(callOf(5_000))).toBe(true);
  });

  test('has room for a single call, however large it is', () => {
    const budget = new CallBudget(10_000);

    expect(budget.take(callOf(100_000))).toBe(true);
    expect(budget.take(callOf(0))).toBe(false);
    budget.giveBack(callOf(100_000));

    expect(budget.take(callOf(1))).toBe(true);
  });

  test('has room for nine calls without a byte in them', () => {
    const budget = new CallBudget(10_000);

    expect(Array.from({ length: 11 }, () => budget.take(callOf(0))).lastIndexOf(true)).toBe(8);
  });
});
