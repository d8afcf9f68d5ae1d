/** `cai sessions`: the sessions of this user that are remembered. */
import { readFileSync } from 'node:fs';
import type { Host } from '../../system/host';
import { agentNameOf } from '../../agent/catalog';
import { isRunning } from '../../system/process-identity';
import { openLog } from '../../system/log';
import { lastUseOf, SessionFile, type SessionRecord } from '../../acp';
import { loadConfig } from '../../config/config';
import { printableLine, quoted } from '../../system/quoted';
import { readState } from '../../system/state-folder';
import { declare } from '../support/command';
import { namedRoot } from '../support/named-root';
import { ageOf, shortened, table, tell } from '../support/terminal';
import { unlessGone } from '../../system/unless';

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
    ['--json', 'as a JSON array; times in ISO 8601 and milliseconds'],
  ],
  action: list,
});

async function list({ agent: named, workspace, json }: Options, host: Host): Promise<number> {
  const { agents, sessions } = loadConfig(host);
  const { persist, keepMs } = sessions;
  const agent = named && agentNameOf(named, agents);
  const root = workspace === undefined ? undefined : await namedRoot(workspace, host);
  const records = readState(host.folders.state, 'sessions.ndjson', (file) => {
    unlessGone(() => readFileSync(file));
    return new SessionFile(file, keepMs, openLog(host.env)).load();
  });
  const now = Date.now();
  const all = [...(records?.values() ?? [])]
    .sort((one, other) => lastUseOf(other) - lastUseOf(one))
    .map((record) => ({ record, isLive: record.openBy !== undefined && isRunning(record.openBy) === true }))
    // One that was opened and never used, by an editor that does so at every start, is nothing to come back to.
    .filter(({ isLive, record }) => isLive || record.updatedAt !== undefined)
    .map(({ record, isLive }) => objectOf(record, isLive, now));
  const shown = all.filter(
    (each) => (agent ?? each.agent) === each.agent && (root ?? each.workspace) === each.workspace,
  );
  if (json !== true) process.stdout.write(asTable(shown));
  // A session a line. Titles may be a stranger's words, so that even this is safe to look at.
  else process.stdout.write(shown.length === 0 ? '[]\n' : `[\n${shown.map(quoted).join(',\n')}\n]\n`);
  if (shown.length === 0) tell(hint(all.length, persist));
  return 0;
}

function objectOf(record: SessionRecord, isLive: boolean, now: number) {
  const { id, title = null, agent, root: workspace, cwd } = record;
  const lastUsedAt = new Date(lastUseOf(record)).toISOString();
  const ageMs = Math.max(now - lastUseOf(record), 0);
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
