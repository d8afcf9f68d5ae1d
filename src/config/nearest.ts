/** The candidate that `word` is a slip of: at most a third of its letters added, dropped, changed or swapped. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const alike = candidates.filter(({ length }) => Math.abs(length - word.length) <= word.length / 3);
  const ranked = alike.map((candidate) => ({ candidate, distance: distanceBetween(word, candidate) }));
  const [best] = ranked.sort((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= word.length / 3 ? best.candidate : undefined;
}

/** How many letters must be added, dropped, changed or swapped with the next: Levenshtein and Damerau. */
function distanceBetween(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let line = 0; line < from.length; line++) {
    const next = [line + 1];
    for (let column = 0; column < to.length; column++) {
      const changed = row[column]! + (from[line] === to[column] ? 0 : 1);
      const isSwap = from[line] === to[column - 1] && from[line - 1] === to[column] && line > 0 && column > 0;
      const swapped = isSwap ? before[column - 1]! + 1 : Infinity;
      next.push(Math.min(changed, swapped, row[column + 1]! + 1, next[column]! + 1));
    }
    [before, row] = [row, next];
  }
  return row.at(-1)!;
}
