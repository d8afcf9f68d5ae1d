/** The one way to declare a command: its arguments, options and help are data that commander reads. */
import { Command, CommanderError, Option } from 'commander';
import type { Host } from '../../system/host';
import { nearest } from '../../config/nearest';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';

/** An option: its flags as commander writes them, and what it does. An `Option` where there is more to say. */
export type OptionRow = readonly [flags: string, help: string] | Option;

/** A word that completion offers, and what it is. */
export type Offer = readonly [word: string, help: string];

export interface Declaration<Options> {
  /** Its name behind `cai`. */
  readonly name: string;
  /** What it does; help wraps it to the terminal, so line ends in it count as spaces. */
  readonly description: string;
  /** Arguments in their order, each as `<name>`, `[name]`, `<name...>` or `[name...]`, what it is, and words for it. */
  readonly arguments?: readonly (readonly [name: string, help: string, words?: readonly string[]])[];
  /** What completion offers for an argument without words; `given`: the arguments before it. */
  readonly offers?: (given: readonly string[], options: Options, host: Host) => Promise<readonly Offer[]>;
  readonly options?: readonly OptionRow[];
  /** What help says last, as it stands. */
  readonly footer?: string;
  /** Whether everything from the first argument on is an argument, also what looks like an option. */
  readonly passesThrough?: true;
  /** Resolves with the exit status. `args`: what was given for `arguments`. */
  readonly action: (options: Options, host: Host, args: readonly string[]) => number | Promise<number>;
}

export const common = {
  workspace: ['-w, --workspace <folder>', 'any folder in the workspace (default: the current one)'],
  agent: [
    '-a, --agent <name>',
    'use the container of this agent (default: "agent.default" in the configuration)',
  ],
  context: ['--context <name>', 'Docker context'],
  fresh: [
    '--fresh',
    'recreate the container, which ends all commands in it; the agent keeps its data volume',
  ],
  json: ['--json', 'as JSON'],
  quiet: ['-q, --quiet', 'print only errors'],
  rootIdentity: new Option('--root-identity <device:inode>').hideHelp(),
} as const satisfies Readonly<Record<string, OptionRow>>;

/**
 * A function that reads arguments, or writes help to stdout, with what it was made of; it rejects with
 * `CaiError('USAGE')` for arguments that do not fit.
 */
export function declare<Options>(
  declaration: Declaration<Options>,
): ((args: readonly string[], host: Host) => Promise<number>) & { declaration: Declaration<Options> } {
  const run = async (args: readonly string[], host: Host): Promise<number> => {
    const command = commandOf(declaration);
    try {
      command.parse(args, { from: 'user' });
    } catch (reason) {
      if (!(reason instanceof CommanderError)) throw reason;
      if (reason.exitCode === 0) return 0;
      const what = reason.message.replace(/^error: |\.$/g, '').replaceAll('\n', ' ');
      throw new CaiError('USAGE', `${what}: see "${command.name()} --help"`);
    }
    return await declaration.action(command.opts() as Options, host, command.args);
  };
  return Object.assign(run, { declaration });
}

export function commandOf<Options>(declaration: Declaration<Options>): Command {
  const command = new Command(`cai ${declaration.name}`)
    .description(declaration.description.replaceAll(/\n\s*/g, ' '))
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .showSuggestionAfterError()
    .helpOption('-h, --help', 'show this help')
    .passThroughOptions(declaration.passesThrough === true);
  for (const [name, help] of declaration.arguments ?? []) command.argument(name, help);
  for (const row of declaration.options ?? [])
    command.addOption(row instanceof Option ? row : new Option(...row));
  if (declaration.footer !== undefined) command.addHelpText('after', declaration.footer);
  return command;
}

/** For `Option.argParser`: an option that may be repeated has all its values. */
export const several = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** The failure for a word behind a command that it does not know. `otherwise`: what may be meant if no word is alike. */
export function unknownWord(
  command: string,
  word: string,
  words: readonly string[],
  otherwise?: string,
): CaiError {
  const meant = nearest(word, words) ?? otherwise;
  const hint = meant === undefined ? '' : `, did you mean "cai ${command} ${meant}"?`;
  const what = `${quoted(word)} is not one of ${words.join(', ')}`;
  return new CaiError('USAGE', `${what}${hint}: see "cai ${command} --help"`);
}

/** An agent's name, given as an argument or by `--agent`. Fails with `CaiError('USAGE')` where these differ. */
export function namedAgent(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument !== undefined && option !== undefined && argument !== option)
    throw new CaiError('USAGE', `"${argument}" and --agent ${option} name two agents: leave one out`);
  return argument ?? option;
}
