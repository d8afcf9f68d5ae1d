/** The real clients of `test/agents`, run by the user of the engine tests. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readTranscripts } from '../agents/transcript';
import type { Transcript } from '../agents/transcript';
import { modelEnv } from './model';
import type { Running } from './running';
import { folder, ownFolder } from './support';
import type { Cai } from './support';

const fixtures = resolve(__dirname, '../../fixtures');
const peers = join(folder, 'peers');
const clients = join(folder, 'clients');
let lastTap = 0;

/** Puts the clients where the user can read them. */
export function provideClients(): void {
  if (existsSync(clients)) return;
  const install = join(fixtures, 'peers/install.mjs');
  const installed = execFileSync(process.execPath, [install], { encoding: 'utf8' }).trim();
  const copy = (...options: string[]) =>
    execFileSync('cp', ['--archive', '--no-target-directory', ...options, installed, peers], {
      stdio: 'ignore',
    });
  try {
    // Half a gigabyte.
    copy('--link');
  } catch {
    copy('--remove-destination');
  }
  cpSync(join(fixtures, 'clients'), clients, { recursive: true });
  execFileSync('chmod', ['-R', 'a+rX', peers, clients]);
}

/** What a client does with an agent, and what passed between them. */
export interface Talk {
  /** The client. */
  readonly client: Running;
  /** All that passed, once the client has ended. */
  readonly transcript: () => Transcript;
}

/** Starts acpx, the command line client, with `cai --acp` in a workspace; it grants everything. */
export function acpx(cai: Cai, agent: string, workspace: string, ...args: string[]): Talk {
  const command = join(peers, 'node_modules/acpx/dist/cli.js');
  return start(cai, agent, (agentCommand) => {
    const quoted = agentCommand.map((word) => `"${word}"`).join(' ');
    return [command, '--cwd', workspace, '--agent', quoted, '--approve-all', '--format', 'json', ...args];
  });
}

/** Starts the client of the official SDK, which prints a report; see the head of its file. */
export function twoWorkspaces(cai: Cai, agent: string, a: string, b: string): Talk {
  const script = join(clients, 'two-workspaces.mjs');
  return start(cai, agent, (agentCommand) => [script, peers, a, b, ...agentCommand]);
}

function start(cai: Cai, agent: string, argsFor: (agentCommand: string[]) => string[]): Talk {
  const taps = join(folder, `taps-${++lastTap}`);
  ownFolder(taps);
  const tap = [process.execPath, join(clients, 'tap.mjs'), taps];
  const proxy = [process.execPath, join(folder, 'package/bin/cai'), '--acp', agent];
  const client = cai.startProgram(process.execPath, argsFor([...tap, ...proxy]), { env: modelEnv });
  return { client, transcript: () => readTranscripts(taps).flat() };
}
