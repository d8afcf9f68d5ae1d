/** The largest unit alone: `45s`, `12m`, `3h`, `9d`. */
export function ageOf(ageMs: number): string {
  const seconds = Math.max(Math.floor(ageMs / 1_000), 0);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
