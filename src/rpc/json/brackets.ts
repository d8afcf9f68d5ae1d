const usualDepth = 256;
const maxKeptDepth = 64 * 1024;

/** One byte for each open bracket, 1 for objects. A walk runs without a break, so all walks share it. */
let kinds = new Uint8Array(usualDepth);

/** A walk begins. An earlier line, nested millions deep, may have taken much memory, which is given back. */
export function beginBrackets(): void {
  if (kinds.length > maxKeptDepth) kinds = new Uint8Array(usualDepth);
}

/** A bracket is opened inside of `depth` others. */
export function openBracketAt(depth: number, isObject: boolean): void {
  if (depth === kinds.length) {
    const larger = new Uint8Array(kinds.length * 2);
    larger.set(kinds);
    kinds = larger;
  }
  kinds[depth] = isObject ? 1 : 0;
}

/** Whether the bracket inside of `depth` others is that of an object. */
export function isObjectAt(depth: number): boolean {
  return kinds[depth] === 1;
}
