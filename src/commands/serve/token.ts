/** `cai serve token`: who may come in to `cai serve` besides the user, each with a token. */
import { configFileOf, loadConfig } from '../../config/config';
import { isPersonName, ownerName } from '../../config/serve-words';
import { nearest } from '../../config/nearest';
import { CaiError } from '../../errors';
import { Tokens } from '../../serve/door/tokens';
import { Users } from '../../serve/door/users';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { declare } from '../support/command';
import { table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly json?: true;
}

const words = ['add', 'list', 'revoke'];

/** Writes to stdout; resolves with 0, or with 1 if there was nothing to revoke. */
export const run = declare<Options>({
  name: 'serve token',
  description: `Lets other people come in to "cai serve", each with a token and to what [[serve.users]] in your configuration
says. Your own token is made when the server first starts. A running server notices changes of both at once.`,
  arguments: [
    ['[word]', '"list" (default), "add" or "revoke"'],
    ['[name]', 'for add and revoke: whose; revoke "owner" replaces your own token'],
  ],
  options: [['--json', 'list as JSON: tokens, each with name and created']],
  action: async ({ json }, host, [word = 'list', name]) => {
    if (!words.includes(word)) throw new CaiError('USAGE', unknownWord(word));
    if (json === true && word !== 'list')
      throw new CaiError('USAGE', `--json is for list: leave it out of "cai serve token ${word}"`);
    const tokens = new Tokens(host);
    if (word === 'list') {
      if (name !== undefined)
        throw new CaiError('USAGE', `"cai serve token list" takes no name: leave out ${quoted(name)}`);
      return list(tokens, json === true);
    }
    if (name === undefined) throw new CaiError('USAGE', `say whose: cai serve token ${word} NAME`);
    return word === 'add' ? await add(name, tokens, host) : await revoke(name, tokens);
  },
});

function unknownWord(word: string): string {
  const meant = nearest(word, words);
  const hint = meant === undefined ? '' : `, did you mean "cai serve token ${meant}"?`;
  return `${quoted(word)} is none of ${words.join(', ')}${hint}: see "cai serve token --help"`;
}

/** The token goes to stdout alone, so that a program can take it from there. */
async function add(name: string, tokens: Tokens, host: Host): Promise<number> {
  if (name === ownerName)
    throw new CaiError(
      'USAGE',
      'the token of "owner" is yours, made when "cai serve" first starts: choose another name',
    );
  if (!isPersonName(name))
    throw new CaiError('USAGE', `${quoted(name)} is no name: use letters, digits and "._@-", at most 64`);
  const user = new Users(loadConfig(host).serve.users).visitor(name);
  if (user === undefined)
    throw new CaiError(
      'USAGE',
      `your configuration does not say what ${name} may use: put into ${configFileOf(host)}
[[serve.users]]
name = "${name}"
agents = ["claude"]
workspaces = ["~/src/project"]
with the agents and folders that you choose, or "all" instead of a list`,
    );
  const token = await tokens.add(name);
  process.stdout.write(`${token}\n`);
  const agents = user.agents?.join(', ') ?? 'all agents';
  tell(
    `this token is shown once. It lets ${name} use ${agents} in ${user.workspaces?.map(quoted).join(', ') ?? 'all folders'}`,
  );
  return 0;
}

function list(tokens: Tokens, isJson: boolean): number {
  const all = tokens.list().map(({ name, created }) => ({ name, created }));
  if (isJson) writeJson({ tokens: all });
  else process.stdout.write(table([['NAME', 'CREATED'], ...all.map(({ name, created }) => [name, created])]));
  if (all.length === 0) tell('nobody but you has a token: "cai serve token add NAME" makes one');
  return 0;
}

async function revoke(name: string, tokens: Tokens): Promise<number> {
  if (await tokens.revoke(name)) {
    tell(name === ownerName ? 'your token is another one now' : `the token of ${quoted(name)} is revoked`);
    return 0;
  }
  tell(`${quoted(name)} has no token: "cai serve token list" shows who has one`);
  return 1;
}
