/** What is told of an error of ours with this code, whose message contains the text or fits the pattern. */
export function expectedError(code: string, message: string | RegExp): { code: string; message: string } {
  const isText = typeof message === 'string';
  const fitting: unknown = isText ? expect.stringContaining(message) : expect.stringMatching(message);
  return { code, message: fitting as string };
}
