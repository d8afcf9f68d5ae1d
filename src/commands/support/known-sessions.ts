/** The sessions of this user that are remembered. */
import { readFileSync } from 'node:fs';
import { lastUseOf, SessionFile, type SessionRecord } from '../../acp';
import { loadConfig } from '../../config/config';
import type { Host } from '../../system/host';
import { openLog } from '../../system/log';
import { isRunning } from '../../system/process-identity';
import { readState } from '../../system/state-folder';
import { unlessGone } from '../../system/unless';

/** `isLive`: a process that runs has it open. */
export type KnownSession = SessionRecord & { readonly isLive: boolean };

/** The most recently used first. Fails with `CaiError('CONFIG')` where they cannot be read. */
export function knownSessions(host: Host): KnownSession[] {
  const { keepMs } = loadConfig(host).sessions;
  const records = readState(host.folders.state, 'sessions.ndjson', (file) => {
    unlessGone(() => readFileSync(file));
    return new SessionFile(file, keepMs, openLog(host.env)).load();
  });
  return [...(records?.values() ?? [])]
    .sort((one, other) => lastUseOf(other) - lastUseOf(one))
    .map((record) => ({
      ...record,
      isLive: record.openBy !== undefined && isRunning(record.openBy) === true,
    }));
}
