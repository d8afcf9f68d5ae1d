/** How two texts differ, line by line. */

/** One line; `gap` stands for lines that are the same in both. */
export interface DiffLine {
  readonly kind: 'same' | 'old' | 'new' | 'gap';
  /** Without line end. */
  readonly text: string;
}

/** Equal lines that are shown around each change. */
const context = 3;
/** Above so many pairs of lines nothing in common is looked for. */
const maxPairs = 1_000_000;

/** The lines of both texts in their order, with what is the same and far from a change left out. */
export function diffOf(before: string, after: string): readonly DiffLine[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < Math.min(old.length, young.length) && old[start] === young[start]) start++;
  let [oldEnd, youngEnd] = [old.length, young.length];
  while (oldEnd > start && youngEnd > start && old[oldEnd - 1] === young[youngEnd - 1]) {
    oldEnd--;
    youngEnd--;
  }
  return withGaps([
    ...old.slice(0, start).map((text) => ({ kind: 'same' as const, text })),
    ...changesOf(old.slice(start, oldEnd), young.slice(start, youngEnd)),
    ...old.slice(oldEnd).map((text) => ({ kind: 'same' as const, text })),
  ]);
}

function linesOf(text: string): readonly string[] {
  const lines = text.split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** By the longest common subsequence. */
function changesOf(old: readonly string[], young: readonly string[]): DiffLine[] {
  const width = young.length + 1;
  const lines: DiffLine[] = [];
  const isTooMuch = old.length * young.length > maxPairs;
  const common = new Uint32Array(isTooMuch ? 0 : (old.length + 1) * width);
  for (let i = old.length - 1; i >= 0 && !isTooMuch; i--)
    for (let j = young.length - 1; j >= 0; j--)
      common[i * width + j] =
        old[i] === young[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    const isBoth = i < old.length && j < young.length;
    if (isBoth && !isTooMuch && old[i] === young[j]) {
      lines.push({ kind: 'same', text: old[i++]! });
      j++;
    } else if (
      j === young.length ||
      (i < old.length && (isTooMuch || common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
    )
      lines.push({ kind: 'old', text: old[i++]! });
    else lines.push({ kind: 'new', text: young[j++]! });
  }
  return lines;
}

function withGaps(lines: readonly DiffLine[]): readonly DiffLine[] {
  const isNear = new Uint8Array(lines.length);
  lines.forEach(({ kind }, index) => {
    if (kind !== 'same') isNear.fill(1, Math.max(0, index - context), index + context + 1);
  });
  return lines.flatMap((line, index) => {
    if (isNear[index] === 1) return [line];
    const isFirst = index === 0 || isNear[index - 1] === 1;
    return isFirst ? [{ kind: 'gap' as const, text: '⋯' }] : [];
  });
}
