/** `cai setup`: writes into an editor's settings how it starts an agent, here or on a server. */
import { posix } from 'node:path';
import { catalog, resolveAgent } from '../../agent/catalog';
import { loadConfig } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { readAddress } from '../../served/client';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { unlessFails } from '../../system/unless';
import { declare } from '../support/command';
import { editorCommand, transience } from '../support/editor-command';
import { tell, writeJson } from '../support/terminal';
import { editors, neovimLines, settingsOf } from './editors';
import { guide } from './guide';
import { setInFile, unsetInFile } from './settings-file';

interface Options {
  readonly agent?: string;
  readonly remote?: string;
  readonly tokenFile?: string;
  readonly print?: true;
  readonly undo?: true;
}

const names = [...Object.keys(editors), 'neovim'];

export const run = declare<Options>({
  name: 'setup',
  description: `Writes into an editor's settings how it starts an agent. What stood there before is kept beside the
    file, with ".before-cai" at the end of its name, and a number if there is such a file. Without an editor, in a
    terminal, it leads from the engine to a first turn.`,
  arguments: [['[editor]', names.join(', '), names]],
  options: [
    [
      '-a, --agent <name>',
      'the agent (default: "agent.default" in the configuration; the first that a server has)',
    ],
    ['-r, --remote <url>', 'an agent of this server, by cai connect'],
    ['--token-file <file>', 'a file with the token for that server'],
    ['-p, --print', 'print what to write, and change nothing'],
    ['-u, --undo', 'take it out again; what nobody has changed since is as it was before'],
  ],
  action: (options, host, [editor]) => {
    if (editor !== undefined) return setup(editor, options, host);
    const { agent, ...others } = options;
    if (Object.keys(others).length > 0) throw new CaiError('USAGE', `name an editor: ${names.join(', ')}`);
    return guide(agent, host, (word, chosen) => setup(word, { agent: chosen }, host));
  },
});

/** How an agent is started, and what a person sees of it. */
interface Start {
  readonly title: string;
  readonly args: readonly string[];
  /** As `AgentEntry` has it. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** What else is needed, a sentence. */
  readonly note?: string | undefined;
}

function setup(word: string, options: Options, host: Host): number {
  const editor = ownValue(editors, word);
  if (editor === undefined && word !== 'neovim')
    throw new CaiError('USAGE', `"${word}" is no editor that cai can set up: ${names.join(', ')}`);
  const { remote } = options;
  const { title, args, env, note } =
    remote === undefined ? here(options, host) : there(remote, options, host);
  const entry = { ...editorCommand(args, host), ...(env && { env }) };
  if (options.undo === true) return undo(word, title, host);
  const notes = [editor?.note, note, transience(entry)].filter((each) => each !== undefined);
  if (editor === undefined) {
    process.stdout.write(neovimLines(title, entry));
    notes.forEach(tell);
    return 0;
  }
  const file = settingsOf(editor, host);
  const path = [...editor.path, title];
  const value = editor.entry(entry);
  const shown = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  writeJson(shown);
  if (options.print === true) {
    tell(`this belongs into ${file}`);
  } else {
    const isNew = setInFile(file, path, value, host);
    tell(`this ${isNew ? 'was written into' : 'stands already in'} ${file}`);
  }
  notes.forEach(tell);
  return 0;
}

function undo(word: string, title: string, host: Host): number {
  const editor = ownValue(editors, word);
  if (editor === undefined)
    throw new CaiError(
      'USAGE',
      'cai has written nothing for Neovim: remove the lines from its configuration',
    );
  const file = settingsOf(editor, host);
  const isDone = unsetInFile(file, [...editor.path, title], host);
  tell(`${quoted(title)} is ${isDone ? 'no longer' : 'not'} in ${file}`);
  return 0;
}

function here({ agent, tokenFile }: Options, host: Host): Start {
  if (tokenFile !== undefined) throw new CaiError('USAGE', '--token-file needs --remote');
  const config = loadConfig(host);
  const name = agent ?? config.agent.default;
  const { displayName } = resolveAgent(name, [], { agents: config.agents, host });
  return { title: `${displayName} (cai)`, args: ['--acp', name], env: engineVariables(host) };
}

/** Where this terminal finds the engine; an editor that no shell has started has other variables. */
function engineVariables({ env }: Host): Readonly<Record<string, string>> | undefined {
  const found = Object.entries(env).filter(
    (entry): entry is [string, string] =>
      /^(DOCKER_(HOST|CONTEXT|CONFIG|TLS_VERIFY|CERT_PATH)|KUBECONFIG)$/.test(entry[0]) &&
      entry[1] !== undefined,
  );
  return found.length === 0 ? undefined : Object.fromEntries(found);
}

/** Throws `CaiError('USAGE')` for an address that `cai connect` does not take. Which agents are there, the server knows. */
function there(remote: string, { agent, tokenFile }: Options, host: Host): Start {
  const { socketPath, isLoopback } = readAddress(remote, agent, host);
  const isElsewhere = socketPath === undefined && !isLoopback;
  return {
    title: `${agent === undefined ? 'cai' : shown(agent)} (${placeOf(remote, host)})`,
    args: [
      ...['connect', remote],
      ...(agent === undefined ? [] : ['--agent', agent]),
      // The editor starts it in another folder.
      ...(tokenFile === undefined ? [] : ['--token-file', posix.resolve(host.cwd, tokenFile)]),
    ],
    note:
      isElsewhere && tokenFile === undefined
        ? 'If the server wants a token, put it into a file that only you can read, and run this again with --token-file FILE.'
        : undefined,
  };
}

/** Throws as `there` does. */
function placeOf(remote: string, host: Host): string {
  const { url, socketPath } = readAddress(remote, undefined, host);
  return socketPath === undefined ? new URL(url).host : 'this machine';
}

/** Whether `setup` has written this entry, as its name and the words of its command tell. */
export function isOurs(name: string, entry: unknown, host: Host): boolean {
  if (name.endsWith(' (cai)')) return true;
  const { args } = (entry ?? {}) as { args?: unknown };
  const words: readonly unknown[] = Array.isArray(args) ? args : [];
  const remote = words[words.indexOf('connect') + 1];
  const place = words.includes('connect') && unlessFails(() => placeOf(remote as string, host));
  return typeof place === 'string' && name.endsWith(` (${place})`);
}

function shown(agent: string): string {
  return ownValue(catalog, agent)?.displayName ?? agent;
}
