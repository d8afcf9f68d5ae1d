/** Recordings that tests write themselves: two agents, each in a workspace, that do some turns. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Side } from '../../src/acp/recording/recording';
import type { Json } from './inbox';
import { newFolder } from './temp-folder';

/** The first line of each. */
export const recordingHead = '{"recording":1,"cai":"0.1.0","agent":"claude","at":"2026-01-01T09:00:00.000Z"}';

/** A new file with these lines below the head. */
export function recordingFile(lines: readonly string[]): string {
  const file = join(newFolder(), 'recording.ndjson');
  writeFileSync(file, [recordingHead, ...lines, ''].join('\n'));
  return file;
}

/** Writes down lines, one after the other. */
export class RecordedLines {
  readonly lines: string[] = [];
  /** Time of the next line, in milliseconds. */
  ms = 0;
  #lastId = 0;

  /** A line that is not recorded as a message. */
  raw(record: Json): void {
    this.lines.push(JSON.stringify({ ms: this.ms, ...record }));
  }

  /** A message, seen at the editor and at the agent with a number. */
  pass(isFromEditor: boolean, child: number, message: Json, more: Json = {}): void {
    const line = JSON.stringify({ jsonrpc: '2.0', ...message });
    const own: Side = isFromEditor ? 'from editor' : 'to editor';
    const other: Side = isFromEditor ? 'to agent' : 'from agent';
    const records = [
      { side: own, line, ...more },
      { side: other, child, line, ...more },
    ];
    for (const record of isFromEditor ? records : records.reverse()) this.raw(record);
  }

  /** A request, whose answer comes after so many milliseconds, with what happens meanwhile before it. */
  call(
    child: number,
    method: string,
    params: Json,
    result: Json,
    tookMs: number,
    meanwhile: () => void = () => undefined,
    isFromEditor = true,
  ): void {
    const id = ++this.#lastId;
    const end = this.ms + tookMs;
    this.pass(isFromEditor, child, { id, method, params });
    meanwhile();
    this.ms = Math.max(end, this.ms);
    this.pass(!isFromEditor, child, { id, result });
  }

  /** A `session/update`. */
  update(child: number, sessionId: string, update: Json): void {
    this.pass(false, child, { method: 'session/update', params: { sessionId, update } });
  }

  /** A session in a workspace, and some turns in it, each with a tool call, a permission and `chunks` updates. */
  session(child: number, sessionId: string, cwd: string, turns: number, chunks: number): void {
    this.raw({ event: 'agent started', child, workspace: cwd });
    const secret = { env: [{ name: 'BAKERY_TOKEN', value: '<redacted>' }] };
    const servers = [{ name: 'oven', command: '/usr/bin/oven', args: [], ...secret }];
    const opened = { id: `new-${sessionId}`, method: 'session/new', params: { cwd, mcpServers: servers } };
    this.pass(true, child, opened, { redacted: true });
    this.ms += 140;
    this.pass(false, child, { id: opened.id, result: { sessionId } });
    for (let turn = 1; turn <= turns; turn++) this.#turn(child, sessionId, turn, chunks);
  }

  #turn(child: number, sessionId: string, turn: number, chunks: number): void {
    this.ms += 2_000;
    const prompt = [{ type: 'text', text: `Bake loaf ${turn}, with more water` }];
    const usage = { inputTokens: 1_800 * child + 40 * turn, outputTokens: 320 + 25 * turn };
    this.call(child, 'session/prompt', { sessionId, prompt }, { stopReason: 'end_turn', usage }, 0, () => {
      const toolCallId = `tool-${turn}`;
      const tool = { toolCallId, title: 'Run ./heat-the-oven --degrees 220', kind: 'execute' };
      this.ms += 700;
      this.update(child, sessionId, { sessionUpdate: 'tool_call', ...tool, status: 'pending' });
      const options = [{ optionId: 'yes', name: 'Allow once', kind: 'allow_once' }];
      const chosen = { outcome: { outcome: 'selected', optionId: 'yes' } };
      const ask = { sessionId, toolCall: tool, options };
      this.call(child, 'session/request_permission', ask, chosen, 1_500, () => undefined, false);
      this.ms += 400;
      const status = turn % 3 === 0 ? 'failed' : 'completed';
      this.update(child, sessionId, { sessionUpdate: 'tool_call_update', toolCallId, status });
      for (let index = 0; index < chunks; index++) {
        this.ms += 5;
        const content = { type: 'text', text: `word ${index} of loaf ${turn} ` };
        this.update(child, sessionId, { sessionUpdate: 'agent_message_chunk', content });
      }
      const cost = { amount: 0.02 * turn * child, currency: 'USD' };
      this.update(child, sessionId, { sessionUpdate: 'usage_update', used: 900, size: 200_000, cost });
    });
  }
}
