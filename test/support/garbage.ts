/** What is left when V8 has thrown away what nothing refers to. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Throws it away now. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Bytes of the heap that are in use. */
export function liveBytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
