/** `cai mock-agent`: what `cai try --mock` talks with. It speaks ACP, has no model, and changes nothing. */
import { setTimeout as wait } from 'node:timers/promises';
import { rpcCode } from '../../errors';
import { errorLine, requestLine, resultLine, updateLine } from '../../rpc/answer';
import type { JsonObject } from '../../rpc/json';
import { LineSplitter } from '../../system/streams/line-splitter';
import type { Json } from './client';

const stepMs = 1_000;
const steps = 60;
const file = 'hello.txt';
const options = [
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];

/** Resolves with 0 at the end of stdin. */
export async function run(): Promise<number> {
  const agent = new MockAgent();
  const lines = new LineSplitter();
  for await (const text of process.stdin.setEncoding('utf8'))
    for (const line of lines.take(text as string))
      agent.read(JSON.parse(line) as Json & { readonly params?: Json });
  agent.stop();
  return 0;
}

class MockAgent {
  /** Aborts the turn that is open. */
  #turn = new AbortController();
  /** Takes the answer to the permission that is open. */
  #answered: (result: Json) => void = () => undefined;
  #sessions = 0;

  read({ id, method, params = {}, result }: Json & { readonly params?: Json }): void {
    if (method === undefined) this.#answered((result ?? {}) as Json);
    else if (method === 'session/cancel') this.stop();
    else if (id !== undefined) void this.#answer(JSON.stringify(id), method, params);
  }

  stop(): void {
    this.#turn.abort();
  }

  async #answer(id: string, method: unknown, params: Json): Promise<void> {
    const refusal = { code: rpcCode.methodNotFound, message: 'Method not found' };
    const result = await this.#resultOf(method, params);
    process.stdout.write(
      result === undefined ? errorLine(id, refusal) : resultLine(id, JSON.stringify(result)),
    );
  }

  async #resultOf(method: unknown, params: Json): Promise<JsonObject | undefined> {
    if (method === 'initialize') return { protocolVersion: 1, agentCapabilities: {} };
    if (method === 'session/new') return { sessionId: `mock-${++this.#sessions}` };
    if (method !== 'session/prompt') return undefined;
    this.#turn = new AbortController();
    const say = (update: JsonObject): void => {
      process.stdout.write(updateLine(String(params.sessionId), JSON.stringify(update)));
    };
    const words = (params.prompt as readonly Json[]).map(({ text }) => String(text)).join(' ');
    if (words.trim() === 'count') await this.#count(say);
    else await this.#work(say, params.sessionId, words);
    return { stopReason: this.#turn.signal.aborted ? 'cancelled' : 'end_turn' };
  }

  async #count(say: Say): Promise<void> {
    say(message('I count until you stop me:'));
    for (let number = 1; number <= steps && !this.#turn.signal.aborted; number++) {
      say(message(` ${number}`));
      await wait(stepMs, undefined, { signal: this.#turn.signal }).catch(() => undefined);
    }
  }

  async #work(say: Say, sessionId: unknown, words: string): Promise<void> {
    const toolCallId = 'write';
    const call = { toolCallId, title: `Write ${file}`, kind: 'edit' };
    say(message(`I am a mock: I have no model. You have said: ${words}\nAn agent would now change a file.`));
    say({ sessionUpdate: 'tool_call', ...call, status: 'pending' });
    const answer = new Promise<Json>((resolve) => {
      this.#answered = resolve;
      this.#turn.signal.addEventListener('abort', () => resolve({}));
    });
    const params = JSON.stringify({ sessionId, toolCall: call, options });
    process.stdout.write(requestLine('"permission"', 'session/request_permission', params));
    const { optionId } = ((await answer).outcome ?? {}) as Json;
    const isAllowed = optionId === 'yes';
    say({ sessionUpdate: 'tool_call_update', toolCallId, status: isAllowed ? 'completed' : 'failed' });
    if (this.#turn.signal.aborted) return;
    say(message(`You have ${isAllowed ? 'allowed' : 'refused'} it. I have changed nothing.`));
  }
}

type Say = (update: JsonObject) => void;

function message(text: string): JsonObject {
  return { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } };
}
