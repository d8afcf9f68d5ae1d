/** A change as text for people: the lines that differ, or what is there instead of a file. */
import { printable, printableLine } from '../../system/quoted';
import type { Change } from './changes';
import { crowd, hiddenState, linkIn, openState } from '../protect/inventory';

/** More lines of one file are only counted. */
const maxLines = 400;
/** Equal lines that are shown around those that differ. */
const around = 3;

/** The change as lines, safe for a terminal. `beforeBytes`: what the file held before, if a copy was kept. */
export function differenceOf({ name, before, now }: Change, beforeBytes: Buffer | undefined): string {
  const [was, is] = [described(before, beforeBytes), described(now?.state, now?.bytes)];
  const title = printableLine(name);
  const heads = [
    before === undefined ? '--- nothing' : `--- ${title}`,
    now === undefined ? '+++ nothing' : `+++ ${title}`,
  ];
  const lines = linesOf(was, is);
  const shown = lines.slice(0, maxLines);
  const rest = lines.length - shown.length;
  const more = rest === 0 ? [] : [`(${rest} more lines)`];
  return [...heads, ...shown, ...more].map((line) => `${line}\n`).join('');
}

/** The lines of a content; for what is no text, one line that says so. */
function described(state: string | undefined, bytes: Buffer | undefined): string[] {
  if (state === undefined) return [];
  const target = linkIn(state);
  if (target !== undefined) return [`(symbolic link to ${printableLine(target)})`];
  if (state === crowd) return ['(too much to look at, or not readable)'];
  if (state.startsWith(openState))
    return [`(folder, mode ${state.slice(openState.length)}: other users of this machine can write in it)`];
  if (state === hiddenState) return ['(git status and git diff do not tell of changes of this file)'];
  if (state === 'other') return ['(neither a file nor a folder)'];
  const mode = /^file ([0-7]+)/.exec(state)?.[1] ?? '';
  return [`(file, mode ${mode})`, ...textOf(bytes)];
}

function textOf(bytes: Buffer | undefined): string[] {
  if (bytes === undefined) return ['(content not shown: too long, not readable, or no copy was kept)'];
  if (bytes.includes(0)) return [`(no text, ${bytes.length} bytes)`];
  const lines = printable(bytes.toString()).split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

/** The lines between the equal beginnings and endings of both texts, with a few equal ones around them. */
function linesOf(was: readonly string[], is: readonly string[]): string[] {
  const most = Math.min(was.length, is.length);
  let start = 0;
  while (start < most && was[start] === is[start]) start++;
  let end = 0;
  while (end < most - start && was[was.length - 1 - end] === is[is.length - 1 - end]) end++;
  const first = Math.max(0, start - around);
  return [
    ...is.slice(first, start).map((line) => ` ${line}`),
    ...was.slice(start, was.length - end).map((line) => `-${line}`),
    ...is.slice(start, is.length - end).map((line) => `+${line}`),
    ...is.slice(is.length - end, is.length - end + Math.min(end, around)).map((line) => ` ${line}`),
  ];
}
