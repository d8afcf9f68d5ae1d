/** The real clients of `test/agents`, run by the user of the engine tests. */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readTranscripts, type Transcript } from '../agents/transcript';
import { modelEnv } from './model';
import { onceInRun } from './place';
import type { Running } from './running';
import { folder, ownFolder, type Cai } from './support';

const fixtures = resolve(__dirname, '../../fixtures');
/** All test files of a run have the same. */
const shared = process.env.CAI_TEST_RUN ?? folder;
const peers = join(shared, 'peers');
const clients = join(shared, 'clients');
let lastTap = 0;

/** Puts the clients where the user can read them. */
export async function provideClients(): Promise<void> {
  await onceInRun('has-clients', copyClients);
}

function copyClients(): void {
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
  symlinkSync(join(peers, 'node_modules'), join(clients, 'node_modules'));
  execFileSync('chmod', ['-R', 'a+rX', peers, clients]);
  chmodSync(shared, 0o755);
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
  return start(cai, agent, acpxArgs(workspace, args));
}

function acpxArgs(workspace: string, args: readonly string[]): (agentCommand: string[]) => string[] {
  const command = join(peers, 'node_modules/acpx/dist/cli.js');
  return (agentCommand) => {
    const quoted = agentCommand.map((word) => `"${word}"`).join(' ');
    return [command, '--cwd', workspace, '--agent', quoted, '--approve-all', '--format', 'json', ...args];
  };
}

/** A session of acpx, which keeps its connection to the proxy from one prompt to the next. */
export class AcpxSession {
  readonly #taps = newTaps();

  /** Nothing is started yet. */
  constructor(
    private readonly cai: Cai,
    private readonly agent: string,
    private readonly workspace: string,
  ) {}

  /** Makes it. */
  async open(): Promise<void> {
    await this.start('sessions', 'new', '--name', 'kept').succeeds();
  }

  /** Starts a prompt. */
  prompt(text: string): Running {
    return this.start('prompt', '--session', 'kept', text);
  }

  /** Ends the connection too. */
  async close(): Promise<void> {
    await this.start('sessions', 'close', 'kept').ends();
  }

  /** All that has passed so far. */
  transcript(): Transcript {
    return readTranscripts(this.#taps).flat();
  }

  private start(...args: string[]): Running {
    return start(this.cai, this.agent, acpxArgs(this.workspace, args), this.#taps).client;
  }
}

/** Starts the client of the official SDK, which prints a report; see the head of its file. */
export function twoWorkspaces(cai: Cai, agent: string, a: string, b: string): Talk {
  const script = join(clients, 'two-workspaces.mjs');
  return start(cai, agent, (agentCommand) => [script, peers, a, b, ...agentCommand]);
}

/** Starts the client of the official SDK for one turn, in which it grants everything; see the head of its file. */
export function oneTurn(cai: Cai, agent: string, workspace: string, prompt: string): Talk {
  const script = join(clients, 'one-turn.mjs');
  return start(cai, agent, (agentCommand) => [script, workspace, prompt, ...agentCommand]);
}

function newTaps(): string {
  const taps = join(folder, `taps-${++lastTap}`);
  ownFolder(taps);
  return taps;
}

function start(
  cai: Cai,
  agent: string,
  argsFor: (agentCommand: string[]) => string[],
  taps = newTaps(),
): Talk {
  const tap = [process.execPath, join(clients, 'tap.mjs'), taps];
  const client = cai.startProgram(process.execPath, argsFor([...tap, ...cai.command, '--acp', agent]), {
    env: modelEnv,
  });
  return { client, transcript: () => readTranscripts(taps).flat() };
}
