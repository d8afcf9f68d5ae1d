/**
 * The argument with which an editor that starts our command again asks for a sign-in: it appends what a sign-in
 * method says to the arguments that it is configured with. Source: ACP v1, authentication.
 */

const form = /^--sign-in=([A-Za-z0-9_-]{1,128})$/;

/**
 * One argument, so that it is whole wherever an editor puts it, and without a character that means anything to a
 * shell.
 */
export function signInArgument(token: string): string {
  return `--sign-in=${token}`;
}

/**
 * The token in the arguments of our command; undefined for arguments without a token. It stands last where an editor
 * appends, and alone where one has nothing else.
 */
export function signInToken(args: readonly string[]): string | undefined {
  const isOurs = args.length === 1 || args[0] === '--acp' || args[0] === 'acp';
  return isOurs ? form.exec(args.at(-1) ?? '')?.[1] : undefined;
}
