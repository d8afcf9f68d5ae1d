/** `cai sessions`: the sessions of this user that are remembered. */
import type { Host } from '../../system/host';
import { agentNameOf } from '../../agent/catalog';
import { lastUseOf } from '../../acp';
import { loadConfig } from '../../config/config';
import { printableLine, quoted } from '../../system/quoted';
import { common, declare } from '../support/command';
import { knownSessions, type KnownSession } from '../support/known-sessions';
import { namedRoot } from '../support/named-root';
import { ageOf, shortened, table, tell } from '../support/terminal';

interface Options {
  readonly agent?: string;
  readonly workspace?: string;
  readonly json?: true;
}

/** How much of a title is shown, in characters. */
const titleLength = 48;

/** Writes the list to stdout, and to stderr a hint if it is empty; resolves with 0. */
export const run = declare<Options>({
  name: 'sessions',
  description: 'Lists your sessions, open and past, the most recently used first.',
  options: [
    ['-a, --agent <name>', 'only sessions of this agent'],
    ['-w, --workspace <folder>', 'only sessions of this workspace (any folder in it)'],
    common.json,
  ],
  footer: `
JSON: an array of objects: id, title (or null), agent, workspace, cwd, isLive (it is open), lastUsedAt and ageMs.`,
  action: list,
});

async function list({ agent: named, workspace, json }: Options, host: Host): Promise<number> {
  const { agents, sessions } = loadConfig(host);
  const agent = named && agentNameOf(named, agents);
  const root = workspace === undefined ? undefined : await namedRoot(workspace, host);
  const all = knownSessions(host)
    // One that was opened and never used, by an editor that does so at every start, is nothing to come back to.
    .filter(({ isLive, updatedAt }) => isLive || updatedAt !== undefined)
    .map(objectOf);
  const shown = all.filter(
    (each) => (agent ?? each.agent) === each.agent && (root ?? each.workspace) === each.workspace,
  );
  if (json !== true) process.stdout.write(asTable(shown));
  // A session a line. Titles may be a stranger's words, so that even this is safe to look at.
  else process.stdout.write(shown.length === 0 ? '[]\n' : `[\n${shown.map(quoted).join(',\n')}\n]\n`);
  if (shown.length === 0) tell(hint(all.length, sessions.persist));
  return 0;
}

function objectOf(session: KnownSession) {
  const { id, title = null, agent, root: workspace, cwd, isLive } = session;
  const lastUsedAt = new Date(lastUseOf(session)).toISOString();
  const ageMs = Math.max(Date.now() - lastUseOf(session), 0);
  return { id, title, agent, workspace, cwd, isLive, lastUsedAt, ageMs };
}

function hint(hidden: number, isKept: boolean): string {
  if (hidden > 0) return 'no session matches: "cai sessions" lists all';
  if (!isKept)
    return 'no sessions: your configuration has persist = false in [sessions], so none are remembered';
  return 'no sessions: one is remembered once an editor has used it by "cai --acp"';
}

function asTable(sessions: readonly ReturnType<typeof objectOf>[]): string {
  const rows = sessions.map(({ id, title, agent, workspace, isLive, ageMs }) => {
    const shown = shortened(printableLine(title ?? '') || '-', titleLength);
    return [shown, agent, workspace, isLive ? 'open' : '-', `${ageOf(ageMs)} ago`, id];
  });
  const head = ['TITLE', 'AGENT', 'WORKSPACE', 'STATE', 'LAST USED', 'ID'];
  return table([head, ...rows], ['TITLE', 'WORKSPACE', 'ID']);
}
