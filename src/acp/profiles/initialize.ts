/** Both sides of `initialize`; what would act on the host, or the user has switched off, is withheld. */
import { CaiError } from '../../errors';
import { bodyOf, fieldOf, jsonOf, type Message } from '../../rpc/message';
import { editedText, replacing, type Edit } from '../../rpc/splice';
import type { JsonObject } from '../../rpc/json';
import type { Config } from '../../config/config';
import type { SignIn } from '../sign-in/sign-in';
import { objectOf } from '../../system/unless';

/** The one protocol version that is spoken. Source: ACP v1, initialization. */
export const protocolVersion = 1;

/** What an agent has answered to `initialize`. */
export interface AgentHello {
  readonly capabilities: JsonObject;
  /** The result as the editor may see it, JSON text. */
  readonly editorResult: string;
  /** The result as the agent gave it, JSON text. */
  readonly agentResult: string;
}

/** What decides which of the editor's capabilities children are told. */
export interface HelloOptions {
  /** Whether agents may read and write files through the editor. */
  readonly hasFiles: boolean;
  readonly terminals: Config['acp']['terminal'];
  /** Whether the editor may run sign-ins for them in a terminal. */
  readonly signIn: Pick<SignIn, 'isPossible'>;
}

/** The params for children, JSON text, and the editor's capabilities. Fails with `INVALID_PARAMS` without a version. */
export function readHello(
  message: Message,
  options: HelloOptions,
): { readonly childParams: string; readonly capabilities: JsonObject } {
  const version = fieldOf(message, 'version');
  const wanted = version === undefined ? undefined : jsonOf(message, version);
  // `1.0` is the same number.
  if (wanted === undefined || !/^\d/.test(wanted) || !Number.isInteger(Number(wanted))) {
    throw new CaiError('INVALID_PARAMS', 'initialize: protocolVersion must be an integer');
  }
  const given: Readonly<Partial<Record<string, string | false>>> = {
    version: String(protocolVersion),
    fileCapability: !options.hasFiles && 'false',
    terminalCapability: options.terminals !== 'container' && 'false',
    signInCapability: !options.signIn.isPossible && 'false',
  };
  const edits = message.fields.flatMap((field) => {
    const text = given[field.kind];
    return text === undefined || text === false ? [] : [replacing(field, text)];
  });
  const { clientCapabilities } = objectOf(bodyOf(message));
  return { childParams: editedBody(message, edits), capabilities: objectOf(clientCapabilities) };
}

/**
 * The result for this editor. One that asks for a later version reads any answer as one of that version, which has an
 * `info`. Source: ACP v2, `InitializeResponse`.
 */
export function resultFor(message: Message, result: string): string {
  const version = fieldOf(message, 'version');
  if (version === undefined || Number(jsonOf(message, version)) <= protocolVersion) return result;
  const { agentInfo, info = agentInfo } = JSON.parse(result) as Readonly<Record<string, JsonObject | null>>;
  const text = (value: unknown): string => (typeof value === 'string' ? value : 'unknown');
  const own = JSON.stringify({ name: text(info?.name), version: text(info?.version) });
  return `{"info":${own},${result.trimStart().slice(1)}`;
}

/** Reads a child's answer; `edits` make it one for the editor. Fails with `AGENT_START` if the agent cannot be used. */
export function readAgentHello(answer: Message, agent: string, edits: readonly Edit[]): AgentHello {
  const body = objectOf(bodyOf(answer));
  if (answer.isError) {
    const said = typeof body.message === 'string' ? body.message : 'no reason given';
    throw new CaiError('AGENT_START', `agent "${agent}" refused to initialize: ${said}`);
  }
  if (body.protocolVersion !== protocolVersion) {
    throw new CaiError(
      'AGENT_START',
      `agent "${agent}" does not speak ACP version ${protocolVersion}: use a version of it that does`,
    );
  }
  return {
    editorResult: editedBody(answer, edits),
    agentResult: editedBody(answer),
    capabilities: objectOf(body.agentCapabilities),
  };
}

/** The answer if no agent's answer is known in time: it promises nothing. */
export const minimalResult = JSON.stringify({ protocolVersion, agentCapabilities: {}, authMethods: [] });

function editedBody(message: Message, edits: readonly Edit[] = []): string {
  return message.bodyStart < 0 ? '{}' : editedText(message.line, message.bodyStart, message.bodyEnd, edits);
}
