/** `--record FILE` of `cai --acp`: the one option there that is ours and not the agent's. */
import { CaiError } from '../../errors';

/** Arguments behind `--acp` without that option. */
export interface WithoutRecord {
  /** The agent's name and its arguments. */
  readonly args: readonly string[];
  /** The file as it was given; undefined without the option. */
  readonly file: string | undefined;
}

/**
 * Takes `--record FILE` or `--record=FILE` out, where it stands before the agent's name or directly behind it;
 * further on it is the agent's. Fails with `CaiError('USAGE')` without a FILE.
 */
export function takeRecordOption(args: readonly string[]): WithoutRecord {
  const index = args.slice(0, 2).findIndex((arg) => arg === '--record' || arg.startsWith('--record='));
  if (index < 0 || (index === 1 && args[0]!.startsWith('-'))) return { args, file: undefined };
  const option = args[index]!;
  const isInOne = option.startsWith('--record=');
  const file = isInOne ? option.slice('--record='.length) : (args[index + 1] ?? '');
  if (file === '') throw new CaiError('USAGE', '--record needs a file: cai --acp --record FILE AGENT');
  return { args: [...args.slice(0, index), ...args.slice(index + (isInOne ? 1 : 2))], file };
}
