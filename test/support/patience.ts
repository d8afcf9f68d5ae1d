/**
 * How long one wait of a test may last unless it says otherwise, in milliseconds: far above what any takes, so that
 * only a fault gets there; a whole test has twice that (`testTimeout` of jest). `CAI_TEST_PATIENCE_MS` says how long on
 * a machine with much else to do, or in a run that seeds faults and gets there on purpose.
 */
export const patienceMs = Number(process.env.CAI_TEST_PATIENCE_MS ?? 60_000);
