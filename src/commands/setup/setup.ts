/** `cai setup`: writes into an editor's settings how it starts an agent, here or on a server. */
import { catalog } from '../../agent/catalog';
import { loadConfig } from '../../config/config';
import { ownValue } from '../../config/own-property';
import { readAddress } from '../../connect/address';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { declare } from '../support/command';
import { editorCommand } from '../support/editor-command';
import { editors, neovimLines } from './editors';
import { setInFile } from './settings-file';

interface Options {
  readonly agent?: string;
  readonly remote?: string;
  readonly print?: true;
}

const names = [...Object.keys(editors), 'neovim'];

/** Resolves with the exit status. */
export const run = declare<Options>({
  name: 'setup',
  description: `Writes into an editor's settings how it starts an agent. What stood there before is kept beside the
    file, with ".before-cai" at the end of its name.`,
  arguments: [['<editor>', names.join(', ')]],
  options: [
    ['-a, --agent <name>', 'the agent (default: "agent.default" in the configuration)'],
    ['-r, --remote <url>', 'an agent of this server, by cai connect'],
    ['-p, --print', 'print what to write, and change nothing'],
  ],
  action: (options, host, [editor]) => setup(editor!, options, host),
});

function setup(word: string, options: Options, host: Host): number {
  const editor = ownValue(editors, word);
  if (editor === undefined && word !== 'neovim')
    throw new CaiError('USAGE', `"${word}" is no editor that cai can set up: ${names.join(', ')}`);
  const { agent = loadConfig(host).agent.default, remote } = options;
  const title = `${ownValue(catalog, agent)?.displayName ?? agent} (${remote === undefined ? 'cai' : hostOf(remote, host)})`;
  const args = remote === undefined ? ['--acp', agent] : ['connect', remote, '--agent', agent];
  const entry = editorCommand(args);
  if (editor === undefined) {
    process.stdout.write(neovimLines(title, entry));
    return 0;
  }
  const file = editor.file(host);
  const path = [...editor.path, title];
  const value = editor.entry(entry);
  const shown = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  process.stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
  if (options.print === true) {
    process.stderr.write(`cai: this belongs into ${file}\n`);
  } else {
    const isNew = setInFile(file, path, value);
    process.stderr.write(`cai: this ${isNew ? 'was written into' : 'stands already in'} ${file}\n`);
  }
  if (editor.note !== undefined) process.stderr.write(`cai: ${editor.note}\n`);
  return 0;
}

/** What to call a server. Throws `CaiError('USAGE')` for an address that `cai connect` does not take. */
function hostOf(remote: string, host: Host): string {
  const { url, socketPath } = readAddress(remote, undefined, host);
  return socketPath === undefined ? new URL(url).host : 'this machine';
}
