import { isPassable, isVariableName } from '../../agent/argument-text';
import { CaiError } from '../../errors';

export interface RemoteCommand {
  /** Program and arguments. The program is looked for in the `PATH` of `env`. */
  readonly argv: readonly [string, ...string[]];
  /** Absolute path of its working directory in the container. */
  readonly cwd: string;
  /** Its whole environment, but for a `SHELL` that it gets if this has no `SHELL`. Of equal names, the last counts. */
  readonly env: readonly (readonly [string, string])[];
  /**
   * Texts of files that it is to find, by paths below its home folder. What the agent has written itself stays. With an
   * empty text, a file with placeholders is removed.
   */
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * What the supervisor in the container reads before it starts the command: a decimal length, a newline, and as many
 * bytes of fields that each end with NUL (`cwd`, number of arguments, arguments, environment, files). Fails with `USAGE`
 * for text that cannot be passed on: with a NUL in it, or not Unicode. The message names no value. `pipes` names the named
 * pipes that the supervisor is to make; one of an earlier version takes that for a variable of the command.
 */
export function encodeHeader(command: RemoteCommand, pipes?: string): Buffer {
  const { argv, cwd, env, files = {} } = command;
  check('the working directory', cwd);
  argv.forEach((text, index) =>
    check(index === 0 ? 'the command' : `argument ${index} of the command`, text),
  );
  for (const [name, value] of env) {
    if (!isVariableName(name))
      throw new CaiError(
        'USAGE',
        `${JSON.stringify(name)} cannot be the name of an environment variable: choose another`,
      );
    check(`the environment variable ${name}`, value);
  }
  const given = Object.entries(files).map(([path, text]) => [`CAI_FILE:${path}`, text] as const);
  const asked = pipes === undefined ? [] : [['CAI_PIPES', pipes] as const];
  const pairs = [...env, ...given, ...asked].map(([name, value]) => `${name}=${value}`);
  const fields = [cwd, String(argv.length), ...argv, ...pairs];
  const body = Buffer.from(`${fields.join('\0')}\0`);
  return Buffer.concat([Buffer.from(`${body.length}\n`), body]);
}

function check(what: string, text: string): void {
  if (!isPassable(text))
    throw new CaiError('USAGE', `${what} holds a NUL or something that is not Unicode: leave that out`);
}
