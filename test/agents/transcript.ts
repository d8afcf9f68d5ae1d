import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A JSON-RPC message as far as these tests look into it. */
export interface WireMessage {
  readonly jsonrpc?: unknown;
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** One entry of a tap's record; see fixtures/clients/tap.mjs. */
export interface Entry {
  readonly atMs: number;
  readonly from?: 'editor' | 'agent';
  readonly message?: WireMessage;
  /** A line that is not JSON. */
  readonly text?: string;
  readonly event?: string;
}

/** What one connection carried, in order. */
export type Transcript = readonly Entry[];

/** The transcripts of all connections whose taps wrote into a folder, the oldest first. */
export function readTranscripts(folder: string): Transcript[] {
  return readdirSync(folder)
    .sort()
    .map((name) =>
      readFileSync(join(folder, name), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Entry),
    );
}

/** The agent's lines that are no JSON-RPC 2.0 message, and answers to requests that nobody sent. */
export function badLines(transcript: Transcript): Entry[] {
  const open = new Set<unknown>();
  return transcript.filter(({ from, message, text }) => {
    if (from === 'editor' && message?.method !== undefined && message.id !== undefined) open.add(message.id);
    if (from !== 'agent') return false;
    if (text !== undefined || message?.jsonrpc !== '2.0') return true;
    if (message.method !== undefined)
      return message.params !== undefined && typeof message.params !== 'object';
    return !open.delete(message.id) || (message.result === undefined) === (message.error === undefined);
  });
}

/** Params of the agent's messages with this method, in order. */
export function agentParams(transcript: Transcript, method: string): Record<string, unknown>[] {
  return transcript.flatMap(({ from, message }) =>
    from === 'agent' && message?.method === method ? [message.params ?? {}] : [],
  );
}

/** What the agent answered to the editor's requests with this method, in the order of the answers. */
export function agentAnswers(transcript: Transcript, method: string): WireMessage[] {
  const asked = new Set(
    transcript.flatMap(({ from, message }) =>
      from === 'editor' && message?.method === method ? [message.id] : [],
    ),
  );
  return transcript.flatMap(({ from, message }) =>
    from === 'agent' && message && message.method === undefined && asked.has(message.id) ? [message] : [],
  );
}

/** The transcript for a human: who said what, without contents. */
export function readable(transcript: Transcript): string {
  const methodOf = new Map<string, string>();
  return transcript
    .map((entry) => `${String(entry.atMs).padStart(6)} ms  ${oneLine(entry, methodOf)}\n`)
    .join('');
}

function oneLine({ from, message, text, event }: Entry, methodOf: Map<string, string>): string {
  if (from === undefined) return `-- ${event ?? ''}`;
  const arrow = from === 'editor' ? 'editor ->' : 'agent  <-';
  if (!message) return `${arrow} not JSON, ${text?.length ?? 0} characters`;
  const id = message.id === undefined ? '' : ` #${message.id}`;
  if (message.method !== undefined) {
    methodOf.set(`${from}${id}`, message.method);
    return `${arrow}${id} ${message.method}${detail(message)}`;
  }
  // An answer belongs to the other side's request.
  const asked = methodOf.get(`${from === 'editor' ? 'agent' : 'editor'}${id}`) ?? 'unknown request';
  const { stopReason } = message.result ?? {};
  const success = typeof stopReason === 'string' ? stopReason : 'ok';
  const outcome = message.error ? `error ${message.error.code}` : success;
  return `${arrow}${id} ${asked}: ${outcome}`;
}

/** Params of the messages that a reader wants to tell apart. */
interface TellingParams {
  readonly update?: { readonly sessionUpdate?: unknown; readonly title?: unknown; readonly status?: unknown };
  readonly toolCall?: { readonly title?: unknown };
  readonly path?: unknown;
}

function detail({ params = {} }: WireMessage): string {
  const { update, toolCall, path }: TellingParams = params;
  const parts = [update?.sessionUpdate, (update ?? toolCall)?.title, update?.status, path];
  return parts.map((part) => (typeof part === 'string' ? ` ${part}` : '')).join('');
}
