/** Signals by which a program is told to end. */
export const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
