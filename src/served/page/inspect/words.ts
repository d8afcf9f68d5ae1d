/** Numbers and names as the page writes them. */
import type { Row } from './row';

/** Milliseconds after the start: `12.345`, `3:04.050`, `1:02:03.004`. */
export function timeText(ms: number): string {
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  const seconds = ((ms % 60_000) / 1_000).toFixed(3);
  if (ms < 60_000) return seconds;
  const rest = `${hours > 0 ? String(minutes).padStart(2, '0') : minutes}:${seconds.padStart(6, '0')}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

/** A duration: `0.4 ms`, `85 ms`, `3.2 s`, `4 min 5 s`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor(ms / 1_000) % 60} s`;
}

/** A size: `85 B`, `1.2 kB`. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function countText(count: number): string {
  return count.toLocaleString('en');
}

/** Who has sent a message to whom. */
export function wayOf({ side, child }: Row): string {
  if (side === undefined) return '';
  const other = child === undefined ? 'editor' : `agent ${child}`;
  return side.startsWith('from') ? `${other} → cai` : `cai → ${other}`;
}

/** What a row is, in a word or two. */
export function whatOf({ kind, method, update, isError }: Row): string {
  if (kind === 'event') return 'event';
  if (kind === 'damaged') return 'damaged line';
  if (kind === 'defect') return 'no message';
  if (kind === 'response') return `${isError ? 'error of' : 'answer to'} ${method ?? 'an unknown request'}`;
  return update === undefined ? (method ?? '') : `${update} (${method})`;
}

/** So many of something; `many`: its plural. */
export function amountText(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${count === 1 ? one : many}`;
}
