/** Reads the MCP servers that the editor names in a call that opens a session. */
import { placeOfUrl, placeText } from '../../config/host-rules';
import type { JsonObject } from '../../rpc/json';
import { jsonOf, textOf, type Message } from '../../rpc/message';
import type { Edit } from '../../rpc/splice';
import { isObject } from '../../system/unless';

type Span = Pick<Edit, 'start' | 'end'>;

/** A server that is a program on stdin and stdout. */
export interface McpProgram {
  readonly kind: 'program';
  readonly name: string;
  readonly span: Span;
  /** Whether the entry has a `type`, which it need not. */
  readonly hasType: boolean;
  /** Path or name of the program, as the editor has it. */
  readonly command: string;
  readonly args: readonly string[];
  /** Its environment, pairs of name and value; secret. */
  readonly env: readonly (readonly [string, string])[];
}

/** A server at a loopback address of this machine. */
export interface McpAddress {
  readonly kind: 'loopback';
  readonly name: string;
  readonly span: Span;
  /** Where the server listens: `localhost`, which is 127.0.0.1 and ::1, or another address of 127.0.0.0/8. */
  readonly host: string;
  readonly port: number;
  /** The URL for an agent that has this port on its own 127.0.0.1; `undefined`: the same as the editor's. */
  readonly url: string | undefined;
}

/** A server elsewhere. */
export interface McpRemote {
  readonly kind: 'remote';
  readonly name: string;
  readonly span: Span;
  /** Where it is, as `placeText` has it. */
  readonly place: string;
}

/** The servers of a call for which we have to do something, in order; what is malformed passes. Source: ACP v1. */
export function mcpEntries(message: Message): (McpProgram | McpAddress | McpRemote)[] {
  return message.fields.flatMap((field) => {
    if (field.kind !== 'mcpEntry') return [];
    // No key that counts stands twice, so that this is what every parser reads.
    const value: unknown = JSON.parse(jsonOf(message, field));
    if (!isObject(value) || typeof value.name !== 'string') return [];
    const entry =
      value.type === undefined || value.type === 'stdio'
        ? programOf(value, value.name, field)
        : addressOf(message, value.name, field);
    return entry ?? [];
  });
}

function programOf(value: JsonObject, name: string, span: Span): McpProgram | undefined {
  const { command, args = [], env = [] } = value;
  if (typeof command !== 'string' || command === '') return undefined;
  if (!Array.isArray(args) || !args.every(isString)) return undefined;
  if (!Array.isArray(env) || !env.every(isVariable)) return undefined;
  const variables = env.map((each) => [each.name, each.value] as const);
  return { kind: 'program', name, span, hasType: value.type !== undefined, command, args, env: variables };
}

function addressOf(message: Message, name: string, span: Span): McpAddress | McpRemote | undefined {
  const field = message.fields.find(
    ({ kind, start, isString: is }) => kind === 'mcpUrl' && is && start > span.start && start < span.end,
  );
  if (field === undefined) return undefined;
  const url = textOf(message, field);
  const loopback = loopbackOf(url);
  if (loopback !== undefined) return { kind: 'loopback', name, span: field, ...loopback };
  const place = placeOfUrl(url);
  return place === undefined ? undefined : { kind: 'remote', name, span: field, place: placeText(place) };
}

/** Where a URL of `http` or `https` leads, if that is a loopback address. */
export function loopbackOf(url: string): Pick<McpAddress, 'host' | 'port' | 'url'> | undefined {
  const { protocol, hostname, port } = URL.canParse(url) ? new URL(url) : { protocol: '' };
  if (protocol !== 'http:' && protocol !== 'https:') return undefined;
  const isName = hostname === 'localhost' || hostname === '127.0.0.1';
  if (!isName && hostname !== '[::1]' && !/^127\.\d+\.\d+\.\d+$/.test(hostname!)) return undefined;
  return {
    host: isName || hostname === '[::1]' ? 'localhost' : hostname!,
    port: port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port),
    // Inside, nothing listens at any other address; many containers have no IPv6 at all.
    url: isName ? undefined : url.replace(/^([^:]*:\/\/(?:[^/?#]*@)?)(?:\[[^\]]*\]|[^:/?#]*)/, '$1127.0.0.1'),
  };
}

function isString(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

function isVariable(value: unknown): value is { name: string; value: string } {
  return isObject(value) && isString(value.name) && /^[^=]+$/.test(value.name) && isString(value.value);
}
