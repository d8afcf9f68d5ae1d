/** `cai serve token`: who may come in to `cai serve` besides the user, each with a token. */
import { configFileOf, loadConfig, type Config } from '../../config/config';
import { isPersonName, ownerName } from '../../config/serve-words';
import { CaiError } from '../../errors';
import { Tokens, Users } from '../../served/server/door';
import type { Host } from '../../system/host';
import { quoted } from '../../system/quoted';
import { declare, unknownWord } from '../support/command';
import { shownTime, table, tell, writeJson } from '../support/terminal';

interface Options {
  readonly json?: true;
  readonly proxy?: true;
  readonly metrics?: true;
}

type Serve = Config['serve'];

const words = ['add', 'list', 'revoke'];

/** Writes to stdout; resolves with 0, or with 1 if there was nothing to revoke. */
export const run = declare<Options>({
  name: 'serve token',
  description: `Lets other people come in to "cai serve", each with a token and to what [[serve.users]] in your configuration
says. Your own token is made when the server first starts. A running server notices changes of both at once. People whom a
proxy signs in make further ones for themselves in the page, which "list" shows and "revoke" takes back, too.`,
  arguments: [
    ['[word]', '"list" (default), "add" or "revoke"', ['list', 'add', 'revoke']],
    ['[name]', 'for add and revoke: whose; revoke "owner" replaces your own token'],
  ],
  options: [
    [
      '--json',
      'list as JSON: tokens, each with name, created, use ("user", "proxy" or "metrics") and perhaps used (a day), and if the user has made it, label and expires',
    ],
    [
      '--proxy',
      'for add: of a proxy that signs people in, and names them in the header "serve.identity_header"',
    ],
    ['--metrics', 'for add: of a program that reads /metrics, and nothing else'],
  ],
  action: async ({ json, proxy, metrics }, host, [word = 'list', name]) => {
    if (!words.includes(word)) throw unknownWord('serve token', word, words);
    if (json === true && word !== 'list')
      throw new CaiError('USAGE', `--json is for list: leave it out of "cai serve token ${word}"`);
    const uses = [proxy && '--proxy', metrics && '--metrics'].filter((each) => each !== undefined);
    if (uses.length > 0 && word !== 'add')
      throw new CaiError('USAGE', `${uses[0]} is for add: leave it out of "cai serve token ${word}"`);
    if (uses.length > 1) throw new CaiError('USAGE', 'a token has one use: leave out --proxy or --metrics');
    const tokens = new Tokens(host);
    if (word === 'list') {
      if (name !== undefined)
        throw new CaiError('USAGE', `"cai serve token list" takes no name: leave out ${quoted(name)}`);
      return list(tokens, json === true);
    }
    if (name === undefined) throw new CaiError('USAGE', `say whose: cai serve token ${word} NAME`);
    if (word === 'revoke') return await revoke(name, tokens);
    checkName(name);
    const { serve } = loadConfig(host);
    if (uses.length === 0) return await add(name, tokens, serve, host);
    if (serve.users.some((each) => each.name === name))
      throw new CaiError('USAGE', `${name} is somebody in [[serve.users]]: choose another name`);
    return proxy === true ? await addProxy(name, tokens, serve, host) : await addMetrics(name, tokens);
  },
});

function checkName(name: string): void {
  if (name === ownerName)
    throw new CaiError(
      'USAGE',
      'the token of "owner" is yours, made when "cai serve" first starts: choose another name',
    );
  if (!isPersonName(name))
    throw new CaiError('USAGE', `${quoted(name)} is no name: use letters, digits and "._@-", at most 64`);
}

/** The token goes to stdout alone, so that a program can take it from there. */
async function add(name: string, tokens: Tokens, serve: Serve, host: Host): Promise<number> {
  const user = new Users(serve).visitor(name);
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

async function addProxy(
  name: string,
  tokens: Tokens,
  { identityHeader }: Serve,
  host: Host,
): Promise<number> {
  if (identityHeader === undefined)
    throw new CaiError(
      'USAGE',
      `your configuration does not say in which header the proxy names people: put identity_header = "X-Auth-Request-Email", or whichever it is, below [serve] of ${configFileOf(host)}`,
    );
  process.stdout.write(`${await tokens.add(name, 'proxy')}\n`);
  tell(
    `this token is shown once. Whoever has it comes in as anybody in [[serve.users]] and [[serve.groups]], by the header "${identityHeader}"`,
  );
  return 0;
}

async function addMetrics(name: string, tokens: Tokens): Promise<number> {
  process.stdout.write(`${await tokens.add(name, 'metrics')}\n`);
  tell('this token is shown once. Whoever has it reads /metrics of the server, and nothing else');
  return 0;
}

const holders = { user: 'a user', proxy: 'a proxy', metrics: 'a reader of metrics' } as const;

function list(tokens: Tokens, isJson: boolean): number {
  const all = tokens.list().map(({ name, created, used, use = 'user' as const, label, expires }) => {
    return { name, created, used, use, label, expires };
  });
  const rows = all.map(({ name, created, used = '-', use, label }) => [
    ...[name, shownTime(created), used],
    label === undefined ? holders[use] : `${holders[use]}, who has made it for ${quoted(label)}`,
  ]);
  if (isJson) writeJson({ tokens: all });
  else process.stdout.write(table([['NAME', 'CREATED', 'USED', 'OF'], ...rows], ['NAME', 'OF']));
  if (all.length === 0) tell('nobody but you has a token: "cai serve token add NAME" makes one');
  return 0;
}

async function revoke(name: string, tokens: Tokens): Promise<number> {
  const count = await tokens.revoke(name);
  if (count === 0) {
    tell(`${quoted(name)} has no token: "cai serve token list" shows who has one`);
    return 1;
  }
  const all = count === 1 ? `the token of ${quoted(name)} is` : `all ${count} tokens of ${quoted(name)} are`;
  tell(name === ownerName ? 'your token is another one now' : `${all} revoked`);
  return 0;
}
