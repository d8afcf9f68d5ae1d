/** Resolves as `done` does, or with `undefined` after `limitMs` milliseconds. */
export async function within<T>(limitMs: number, done: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), limitMs)));
  try {
    return await Promise.race([done, late]);
  } finally {
    clearTimeout(timer);
  }
}
