import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { AgentCommand } from '../../src/agent/catalog';
import { AgentProcess, type AgentProcessOptions } from '../../src/agent/process';
import type { AgentStatus } from '../../src/rpc/status';
import type { CaiError } from '../../src/errors';
import { openLog } from '../../src/system/log';
import {
  killIfThere,
  markedProcesses,
  markerName,
  waitForLeftovers,
  type MarkedProcess,
} from '../agents/leftovers';

/** A log that nobody reads. */
export const noLog = openLog({ CAI_LOG_LEVEL: 'silent' });

/** The command of an agent below `fixtures/agents`. */
export function fixture(name: string, ...args: string[]): AgentCommand {
  const script = resolve(__dirname, `../../fixtures/agents/${name}.mjs`);
  return { name, displayName: name, command: [process.execPath, script, ...args], remedy: 'install it' };
}

/** The command of a program on PATH. */
export function program(...command: [string, ...string[]]): AgentCommand {
  return { name: command[0], displayName: command[0], command, remedy: 'install it' };
}

/** A started agent and what it has said. */
export class AgentRun {
  readonly process: AgentProcess;
  /** Its lines; `over-long` for one that was. */
  readonly lines: string[] = [];
  /** How often the end was told. */
  endCount = 0;
  /** Resolves with the reason when the end is told. */
  readonly ended: Promise<CaiError>;
  stderr = '';
  readonly #marker = randomUUID();
  #wake: () => void = () => undefined;

  /** What the command has said on descriptor 3. */
  readonly statuses: AgentStatus[] = [];

  /** Starts an agent. `onLine` sees a line after it has been noted. */
  constructor(
    agent: AgentCommand,
    options: Partial<AgentProcessOptions> = {},
    onLine?: (line: string) => void,
  ) {
    let resolveEnd: (reason: CaiError) => void;
    this.ended = new Promise((resolved) => (resolveEnd = resolved));
    const usual = {
      agent,
      cwd: tmpdir(),
      env: { PATH: process.env.PATH, [markerName]: this.#marker },
      limits: { maxLineBytes: 1024 * 1024, maxSearchBytes: 1024 },
      log: noLog,
    };
    this.process = new AgentProcess({ ...usual, ...options }, (event) => {
      if (event.kind === 'status') this.statuses.push(event.status);
      if (event.kind === 'stderr') this.stderr += event.text;
      if (event.kind === 'line') {
        this.lines.push(Buffer.isBuffer(event.line) ? event.line.toString() : 'over-long');
        onLine?.(this.lines.at(-1)!);
        this.#wake();
      } else if (event.kind === 'end') {
        this.endCount++;
        resolveEnd(event.reason);
      }
    });
  }

  /** Sends a line. */
  send(text: string): void {
    this.process.send(Buffer.from(`${text}\n`));
  }

  /** Resolves when a line has come that ends with `text`. */
  async line(text: string): Promise<void> {
    while (!this.lines.some((line) => line.endsWith(text))) {
      await new Promise<void>((resolved) => (this.#wake = resolved));
    }
  }

  /** The processes that it has started, itself included, and that live. */
  get leftovers(): MarkedProcess[] {
    return markedProcesses(this.#marker);
  }

  /** Ends what it has left. */
  async clear(): Promise<void> {
    for (const { pid } of this.leftovers) killIfThere(pid);
    await waitForLeftovers(this.#marker, 5_000);
  }
}

/** A folder that is not there. */
export const noFolder = join(tmpdir(), 'cai-is-not-here');
