/** `cai sessions`: the sessions of this user that are remembered. */
import { readFileSync } from 'node:fs';
import type { Host } from '../../system/host';
import { isRunning } from '../../system/process-identity';
import { openLog } from '../../system/log';
import { SessionFile } from '../../sessions/session-file';
import { lastUseOf, type SessionRecord } from '../../sessions/session-file';
import { loadConfig } from '../../config/config';
import { printableLine, quoted } from '../../system/quoted';
import { readState, unlessGone } from '../../system/state-folder';
import { declare } from '../support/command';
import { namedRoot } from '../support/named-root';
import { ageOf, shortened, table, tell } from '../support/terminal';

interface Options {
  readonly agent?: string;
  readonly workspace?: string;
  readonly json?: true;
}

/** A session, and whether a proxy has it open now. */
type Listed = SessionRecord & { readonly isLive: boolean };

/** How much of a title is shown, in characters. */
const titleLength = 48;

/** Writes the list to stdout, and to stderr a hint if it is empty; resolves with 0. */
export const run = declare<Options>({
  name: 'sessions',
  description: 'Lists your sessions, open and past, the one used last first.',
  options: [
    ['-a, --agent <name>', 'of this agent only'],
    ['-w, --workspace <folder>', 'of this workspace only: any folder in it'],
    ['--json', 'as a JSON array; times in ISO 8601 and milliseconds'],
  ],
  action: list,
});

async function list({ agent, workspace, json }: Options, host: Host): Promise<number> {
  const { persist, keepMs } = loadConfig(host).sessions;
  const root = workspace === undefined ? undefined : await namedRoot(workspace, host);
  const records = readState(host.folders.state, 'sessions.ndjson', (file) => {
    unlessGone(() => readFileSync(file));
    return new SessionFile(file, keepMs, openLog(host.env)).load();
  });
  const all = [...(records?.values() ?? [])]
    .map((each) => ({ ...each, isLive: each.openBy !== undefined && isRunning(each.openBy) === true }))
    // One that was opened and never used, by an editor that does so at every start, is nothing to come back to.
    .filter(({ isLive, updatedAt }) => isLive || updatedAt !== undefined)
    .sort((one, other) => lastUseOf(other) - lastUseOf(one));
  const shown = all.filter(
    (each) => (agent ?? each.agent) === each.agent && (root ?? each.root) === each.root,
  );
  const now = Date.now();
  process.stdout.write(json === true ? asJson(shown, now) : asTable(shown, now));
  if (shown.length === 0) tell(hint(all.length, persist));
  return 0;
}

function hint(hidden: number, isKept: boolean): string {
  if (hidden > 0) return 'none of your sessions is one of those: "cai sessions" lists all';
  if (!isKept)
    return 'no sessions: your configuration has persist = false below [sessions], so none are remembered';
  return 'no sessions: one is remembered once an editor has used it by "cai --acp"';
}

function asTable(sessions: readonly Listed[], now: number): string {
  const rows = sessions.map((session) => {
    const { id, title = '', agent, root, isLive } = session;
    const used = `${ageOf(now - lastUseOf(session))} ago`;
    const shown = shortened(printableLine(title) || '-', titleLength);
    return [shown, agent, root, isLive ? 'open' : '-', used, id];
  });
  const head = ['TITLE', 'AGENT', 'WORKSPACE', 'STATE', 'LAST USED', 'ID'];
  return table([head, ...rows], ['TITLE', 'WORKSPACE', 'ID']);
}

/** A session a line. Titles may be a stranger's words, so that even this is safe to look at. */
function asJson(sessions: readonly Listed[], now: number): string {
  const objects = sessions.map((session) => ({
    id: session.id,
    title: session.title ?? null,
    agent: session.agent,
    workspace: session.root,
    cwd: session.cwd,
    isLive: session.isLive,
    lastUsedAt: new Date(lastUseOf(session)).toISOString(),
    ageMs: Math.max(now - lastUseOf(session), 0),
  }));
  return objects.length === 0 ? '[]\n' : `[\n${objects.map(quoted).join(',\n')}\n]\n`;
}
