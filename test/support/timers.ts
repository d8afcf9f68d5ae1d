/** How many timers of at least `minMs` milliseconds were started during `action` and not cleared by its end. */
export async function timersLeftBy(minMs: number, action: () => Promise<unknown>): Promise<number> {
  const started = jest.spyOn(globalThis, 'setTimeout');
  const cleared = jest.spyOn(globalThis, 'clearTimeout');
  try {
    await action();
    const gone = new Set<unknown>(cleared.mock.calls.map(([timer]) => timer));
    const isLeft = started.mock.results.map(({ value }, n) => {
      return (started.mock.calls[n]![1] ?? 0) >= minMs && !gone.has(value);
    });
    return isLeft.filter(Boolean).length;
  } finally {
    started.mockRestore();
    cleared.mockRestore();
  }
}
