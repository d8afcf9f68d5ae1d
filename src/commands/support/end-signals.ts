/** Signals by which a program is told to end. */
export const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Resolves with the one that comes first; a second one of that kind ends the process. */
export function firstEndSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of endSignals) process.once(signal, resolve);
  });
}
