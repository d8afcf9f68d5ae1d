/** `cai completion`: the words that a shell offers behind `cai`, taken from the help. */
import { existsSync } from 'node:fs';
import { agentNameOf, catalog } from '../../agent/catalog';
import { readRegistry } from '../../agent/registry/acp-registry';
import { configKeys, loadConfig } from '../../config/config';
import { nameOf } from '../../config/config-reader';
import { ownValue } from '../../config/own-property';
import { ownContainers } from '../../container/user-containers';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { printableLine } from '../../system/quoted';
import { recordedRoots } from '../../workspace/records';
import { connectEngine } from '../containers/selection';
import { commandOf, declare, type Declaration, type Offer } from '../support/command';

/** Each asks `cai complete -- WORDS`, and offers files where that has no answer. */
const scripts = {
  bash: `_cai() {
  local word
  COMPREPLY=()
  while IFS=$'\\t' read -r word _; do
    COMPREPLY+=("$(printf %q "$word")")
  done < <(cai complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null)
}
complete -o default -F _cai cai
`,
  zsh: `#compdef cai
_cai() {
  local line; local -a offers
  for line in "\${(@f)$(cai complete -- "\${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    [[ -n $line ]] && offers+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done
  if (( $#offers )); then _describe cai offers; else _files; fi
}
if [[ $funcstack[1] == _cai ]]; then
  _cai "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
  compdef _cai cai
fi
`,
  fish: `function __cai_complete
  set -l words (commandline -opc) (commandline -ct)
  cai complete -- $words[2..-1] 2> /dev/null
end
complete -c cai -f
complete -c cai -a '(__cai_complete)'
complete -c cai -n 'test -z "$(__cai_complete)"' -F
`,
};

const shells = Object.keys(scripts);

/** Writes the script for a shell to stdout. Fails with `USAGE` for a shell without one. */
export const run = declare({
  name: 'completion',
  description: `Prints a script with which a shell completes commands, options, agents, containers, workspaces and hosts that
    were refused.`,
  arguments: [['<shell>', shells.join(', '), shells]],
  footer: `
bash: echo 'source <(cai completion bash)' >> ~/.bashrc
zsh:  echo 'source <(cai completion zsh)' >> ~/.zshrc
fish: cai completion fish > ~/.config/fish/completions/cai.fish`,
  action: (_, __, [shell]) => {
    const script = ownValue(scripts, shell!);
    if (script === undefined) throw new CaiError('USAGE', `"${shell}" is not one of ${shells.join(', ')}`);
    process.stdout.write(script);
    return 0;
  },
});

export interface Known {
  /** What the first word can be. */
  readonly first: readonly Offer[];
  /** What a command declares; `undefined`: there is no such command. */
  readonly declared: (name: string) => Promise<Declaration<never> | undefined>;
}

/**
 * Writes what the last of these words can become: a line for each, with its help behind a tab. The words are those behind
 * `cai complete --`. What cannot be found out is not offered.
 */
export async function complete([, ...words]: readonly string[], known: Known, host: Host): Promise<number> {
  const last = words.at(-1) ?? '';
  const offers = await offersFor(words.slice(0, -1), last, known, host).catch(() => []);
  // Agents choose some of them.
  const fitting = offers.filter(([word]) => word.startsWith(last) && printableLine(word) === word);
  process.stdout.write(fitting.map(([word, help]) => `${word}\t${printableLine(help)}\n`).join(''));
  return 0;
}

async function offersFor(
  [name, ...before]: readonly string[],
  last: string,
  { first, declared }: Known,
  host: Host,
): Promise<readonly Offer[]> {
  if (name === undefined) return first;
  if (name === '--acp' || name === 'acp') return before.length === 0 ? allAgents(host) : [];
  const declaration = await declared(name);
  if (declaration === undefined) return [];
  const command = commandOf(declaration);
  const option = command.options.find(
    ({ short, long, required, optional }) =>
      (required || optional) && [short, long].includes(before.at(-1) ?? ''),
  );
  if (option !== undefined) return await valuesOf(option.attributeName(), option.argChoices, host);
  // What stands where an option cannot stand is an argument.
  const { operands } = command.parseOptions([...before, '--completed']);
  if (last.startsWith('-') && !operands.includes('--completed'))
    return command
      .createHelp()
      .visibleOptions(command)
      .map(({ long, short, description }) => [(long ?? short)!, description]);
  const given = operands.filter((each) => each !== '--completed');
  const rows = declaration.arguments ?? [];
  const [argument, , choices] = rows[given.length] ?? rows.findLast(([each]) => each.includes('...')) ?? [''];
  if (choices === undefined && declaration.offers !== undefined)
    return await declaration.offers(given, command.opts<never>(), host);
  return await valuesOf(argument.replaceAll(/[^a-z]/g, ''), choices, host);
}

/** `kind`: what an option or an argument is called. Nothing: the shell offers files. */
async function valuesOf(
  kind: string,
  choices: readonly string[] | undefined,
  host: Host,
): Promise<readonly Offer[]> {
  if (choices !== undefined) return choices.map((each) => [each, '']);
  if (kind === 'agent') return agents(host);
  if (kind === 'key')
    return configKeys
      .map(({ path }) => nameOf(path))
      .filter(isOneKey)
      .map((each) => [each, '']);
  if (kind === 'workspace')
    return recordedRoots(host.folders.state)
      .filter((root) => existsSync(root))
      .map((root) => [root, '']);
  if (kind !== 'container') return [];
  const containers = await ownContainers(await connectEngine(host, undefined), host.user.uid);
  return containers.map((each) => [each.name, each.workspace ?? '']);
}

/** Not of a table that has any number of rows, or whose names the user chooses. */
const isOneKey = (name: string): boolean => /^[a-z_.]+$/.test(name);

function agents(host: Host): readonly Offer[] {
  const own = Object.keys(loadConfig(host).agents).map((each): Offer => [each, 'of your configuration']);
  return [...Object.entries(catalog).map(([name, { displayName }]): Offer => [name, displayName]), ...own];
}

/** Also the agents of the registry, which have other names there where we know them ourselves. */
function allAgents(host: Host): readonly Offer[] {
  const own = agents(host);
  const configured = loadConfig(host).agents;
  const listed = readRegistry(host).entries.map(({ id, name }): Offer => [agentNameOf(id, configured), name]);
  return [...own, ...listed.filter(([id]) => !own.some(([each]) => each === id))];
}
