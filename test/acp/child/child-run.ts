import { tmpdir } from 'node:os';
import type { AgentCommand } from '../../../src/agent/catalog';
import type { StopLadder } from '../../../src/agent/process-end';
import { scan } from '../../../src/rpc/message';
import { LineWriter } from '../../../src/rpc/writer';
import type { ChildRequest } from '../../../src/acp/child/child-requests';
import { Attempts } from '../../../src/acp/child/retry';
import type { ChildEvent } from '../../../src/acp/child/child-event';
import type { HeldTask } from '../../../src/acp/child/held-tasks';
import { Child } from '../../../src/acp/child/child';
import { createPathMap } from '../../../src/system/paths/path-map';
import { noLog } from '../../agent/agent-run';
import { Gate } from '../../rpc/gate';

/** Impatient. */
export const ladder: StopLadder = { termAfterMs: 50, killAfterMs: 50 };

/** 1 MiB, which is all that may wait for an agent. */
export const megabyte = 'x'.repeat(1024 * 1024);

/** A started child, what its agent has written, and what those were told that it concerns. */
export class ChildRun {
  readonly child: Child;
  /** The editor's end. */
  readonly gate = new Gate();
  /** Lines of the agent. */
  readonly lines: string[] = [];
  /** What askers and tasks were told, and the end. */
  readonly told: string[] = [];
  #wake: () => void = () => undefined;

  /** Starts a child; `onLine` sees a line after it has been noted. */
  constructor(agent: AgentCommand, onLine?: (text: string) => void) {
    this.child = new Child({
      agent,
      cwd: tmpdir(),
      env: process.env,
      limits: { maxLineBytes: 4 * 1024 * 1024, maxSearchBytes: 1024 },
      root: '/w',
      map: createPathMap({ hostRoots: ['/w'], agentRoots: ['/w'] }),
      writer: new LineWriter(this.gate, 128 * 1024, () => undefined),
      inputBudgetBytes: 1024 * 1024,
      attempts: new Attempts({ attempts: 1, firstDelayMs: 0, maxDelayMs: 0 }, noLog),
      log: noLog,
    });
    const hear = (event: ChildEvent): void => {
      if (event.kind !== 'end') return;
      this.told.push(`end: ${this.child.endReason!.code}`);
      this.#wake();
    };
    this.child.start(hear, (output) => {
      if (output.kind !== 'line') return;
      this.lines.push((output.line as Buffer).toString());
      onLine?.(this.lines.at(-1)!);
      this.#wake();
    });
  }

  /** Resolves when something has happened and that holds. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  /** Resolves when the agent has written so many lines. */
  async line(count: number): Promise<void> {
    await this.until(() => this.lines.length >= count);
  }

  /** Resolves when the end has been told. */
  async ended(): Promise<void> {
    await this.until(() => this.told.some((each) => each.startsWith('end')));
  }

  /** The agent answers what is open under that id. */
  answer(id: string): void {
    const nothing = { params: () => undefined, result: () => undefined, error: undefined };
    this.child.requests.settle(id, scan(Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}`), nothing));
  }

  /** A task that notes what becomes of it. */
  task(name: string, bytes = 0): HeldTask {
    return {
      bytes,
      run: () => this.told.push(`${name} runs`),
      onFailure: (reason) => this.told.push(`${name}: ${reason.code}`),
    };
  }

  /** A request that notes what becomes of it. */
  asker(name: string): ChildRequest {
    return {
      resultPlan: undefined,
      editorId: undefined,
      method: 'm',
      onAnswer: (message) => this.told.push(`${name}: ${message.id}`),
      onFailure: (reason) => this.told.push(`${name}: ${reason.code}`),
    };
  }

  /** Ends it, whatever its state. */
  async end(): Promise<void> {
    this.gate.destroy();
    await this.child.stop(ladder);
  }
}
