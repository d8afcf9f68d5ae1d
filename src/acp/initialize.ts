/**
 * `initialize`, both sides of it: what a child is told of the editor, what the editor is told of the
 * agent. What is withheld would act on the host, or is not served yet.
 */
import { CaiError } from '../errors';
import { compilePlan } from '../rpc/plan';
import { fieldOf } from '../rpc/scan';
import type { Message } from '../rpc/scan';
import { cut } from '../rpc/splice';
import type { Edit } from '../rpc/splice';
import { Walk } from '../rpc/walk';
import type { JsonObject } from '../session/workspace-child';

/** The sign-in methods, and in each what is looked at: two parsers must not read it differently. */
const methodsPlan = compilePlan({
  '*': { '=': 'method', type: 'type', _meta: { 'terminal-auth': 'command' } },
});

/** The one protocol version that is spoken. Source: ACP v1, initialization. */
export const protocolVersion = 1;

/** What the editor's `initialize` says, as far as it matters here. */
export interface EditorHello {
  /** Params for every child, JSON text: the editor's own bytes but for what is withheld. */
  readonly childParams: string;
  /** `clientCapabilities` as the editor sent them. */
  readonly capabilities: JsonObject;
}

/** Reads the editor's `initialize`. Fails with `INVALID_PARAMS` when it names no version. */
export function readHello(message: Message, allowsFiles: boolean): EditorHello {
  const version = fieldOf(message, 'version');
  const wanted =
    version === undefined ? undefined : message.line.toString('latin1', version.start, version.end);
  if (wanted === undefined || !/^\d+$/.test(wanted)) {
    throw new CaiError('INVALID_PARAMS', 'initialize: protocolVersion must be an integer');
  }
  const edits: Edit[] = [];
  for (const { kind, start, end } of message.fields) {
    if (kind === 'version') edits.push({ start, end, text: String(protocolVersion) });
    if (kind === 'withheld' || (kind === 'fileCapability' && !allowsFiles))
      edits.push({ start, end, text: 'false' });
  }
  const params = JSON.parse(bodyOf(message)) as { clientCapabilities?: JsonObject | null };
  return { childParams: bodyOf(message, edits), capabilities: params.clientCapabilities ?? {} };
}

/** What a child's answer to `initialize` says. */
export interface AgentHello {
  /** Result for the editor, JSON text: the agent's own bytes but for what would run on the host. */
  readonly editorResult: string;
  /** `agentCapabilities` as the agent sent them. */
  readonly capabilities: JsonObject;
}

/** Reads a child's answer to `initialize`. Fails with `AGENT_START` when the agent cannot be used. */
export function readAgentHello(answer: Message, agent: string): AgentHello {
  if (answer.isError) {
    const error = JSON.parse(bodyOf(answer)) as { message?: unknown } | null;
    const said = typeof error?.message === 'string' ? error.message : 'no reason given';
    throw new CaiError('AGENT_START', `agent "${agent}" refused to initialize: ${said}`);
  }
  const result = JSON.parse(bodyOf(answer)) as {
    protocolVersion?: unknown;
    agentCapabilities?: JsonObject | null;
  } | null;
  if (result?.protocolVersion !== protocolVersion) {
    throw new CaiError(
      'AGENT_START',
      `agent "${agent}" does not speak ACP version ${protocolVersion}: use a version of it that does`,
    );
  }
  return { editorResult: bodyOf(answer, signInEdits(answer)), capabilities: result.agentCapabilities ?? {} };
}

/** The answer when no agent's answer is to be had: nothing is promised. */
export const minimalResult = JSON.stringify({ protocolVersion, agentCapabilities: {}, authMethods: [] });

/**
 * The edits that take out of an answer, an error as well, what an editor would run on the host to sign in;
 * where two parsers could see different methods, all of them.
 */
export function signInEdits(answer: Message): Edit[] {
  const edits: Edit[] = [];
  for (const { kind, start, end } of answer.fields) {
    if (kind === 'hostCommand') edits.push({ start, end, text: 'null' });
    if (kind !== 'authMethods') continue;
    const json = answer.line.subarray(start, end);
    const isNull = json.toString('latin1') === 'null';
    const methods = methodsOf(json);
    const kept = (methods ?? []).map(withoutCommand).filter((method) => method !== undefined);
    // Agents are told that terminals are not offered, so nearly always there is nothing to take out.
    const isArray = json[0] === 0x5b;
    const isSame =
      kept.length === methods?.length && kept.every((method, index) => method === methods[index]);
    if (!(isNull || (isArray && isSame))) edits.push({ start, end, text: `[${kept.join(',')}]` });
  }
  return edits;
}

/**
 * A sign-in method, JSON text, without the command line that some editors would run on the host;
 * undefined for one that is nothing but that.
 */
function withoutCommand(text: string): string | undefined {
  const method = JSON.parse(text) as JsonObject | null;
  if (typeof method !== 'object' || method === null || Array.isArray(method)) return undefined;
  if (method.type === 'terminal') return undefined;
  const meta = method._meta as JsonObject | null | undefined;
  if (meta?.['terminal-auth'] === undefined) return text;
  const rest = Object.entries(meta).filter(([key]) => key !== 'terminal-auth');
  return JSON.stringify({ ...method, _meta: Object.fromEntries(rest) });
}

/** The texts of the sign-in methods; undefined where a key that is looked at stands twice. */
function methodsOf(json: Buffer): string[] | undefined {
  const walk = new Walk(json);
  walk.value(0, methodsPlan);
  if (walk.hasDuplicate) return undefined;
  const methods = walk.fields.filter((field) => field.kind === 'method');
  return methods.map(({ start, end }) => json.toString('utf8', start, end));
}

function bodyOf(message: Message, edits: readonly Edit[] = []): string {
  return message.bodyStart < 0 ? '{}' : cut(message.line, message.bodyStart, message.bodyEnd, edits);
}
