/**
 * The sign-in methods of an agent that an editor would run as a command. An editor runs on the host whatever
 * command it is given. It therefore gets a command of ours with a token, which runs the agent's own command in the
 * container.
 */
import type { Host } from '../../system/host';
import type { AgentCommand } from '../../agent/catalog';
import { isPassable, isVariableName } from '../../agent/argument-text';
import { signInArgument } from '../../agent/sign-in-argument';
import { SignInByHand } from './sign-in-by-hand';
import {
  dropToken,
  hostCommand,
  sweepTokens,
  writeToken,
  type TerminalOrder,
} from '../../agent/editor-token';
import { messageOf } from '../../errors';
import type { Log } from '../../system/log';
import { Walk, wantedIn, openBracket, type JsonObject } from '../../rpc/json';
import type { Message } from '../../rpc/message';
import { replacing, type Edit } from '../../rpc/splice';
import { isObject, objectOf, parsedUnlessLong } from '../../system/unless';

/** The keys of a sign-in method that we look at; a method that has one twice is refused, as parsers may differ. */
const methodsPlan = wantedIn({
  '*': {
    '=': 'method',
    type: 'type',
    command: 'command',
    args: 'args',
    env: 'env',
    vars: { '*': { name: 'name' } },
    varName: 'name',
    _meta: {
      'terminal-auth': { '=': 'command', command: 'command', args: 'args', env: 'env', label: 'label' },
    },
  },
});

/** Keys that an editor could take for a command to run; `undefined` removes them. */
const nothingRunnable = { command: undefined, args: undefined, env: undefined };
/**
 * The variables that a method may have the editor set: keys, and where they are used. Others, as `BASH_ENV` or
 * `HTTPS_PROXY`, would steer programs of this machine.
 */
const settable = /^(?!CAI_)(?:[A-Z][A-Z0-9]*_)*(?:KEY|TOKEN|SECRET|BASE_URL)$/;

/** How many different logins one proxy keeps ready for each workspace; agents have one to three. */
const maxLogins = 32;

/** A folder in the workspace in which a login runs, and which of the two ways to run one the editor knows. */
interface Way {
  readonly root: string | undefined;
  readonly terminal: boolean;
  readonly runs: boolean;
}

/** Whose answer it is, and for whom. */
export interface SignInPlace {
  /** A folder in the workspace whose agent gave it; undefined: the agent has no workspace. */
  readonly root: string | undefined;
  readonly editorCapabilities: JsonObject;
  /** That workspace is not known, and a login would run for another, so that none is offered. */
  readonly isElsewhere?: boolean;
}

export class SignIn {
  /** A folder in the workspace in whose container a login runs that no workspace's agent has offered; undefined: none. */
  ownRoot: string | undefined;
  /** Tokens by their orders, by the workspace in which these run. */
  readonly #tokens = new Map<string | undefined, Map<string, string>>();

  /** How somebody signs in without the editor. */
  readonly byHand: SignInByHand;

  /**
   * Nothing is written before an agent offers a login. `agent` is as it runs in a container; undefined where it does
   * not: then nothing is offered.
   */
  constructor(
    private readonly options: {
      readonly agent: AgentCommand | undefined;
      readonly host: Host;
      readonly log: Log;
    },
  ) {
    this.byHand = new SignInByHand(options.agent, options.log, () => this.ownRoot);
  }

  /** Nobody can sign in any more by what was offered. */
  end(): void {
    const { host } = this.options;
    for (const tokens of this.#tokens.values()) for (const token of tokens.values()) dropToken(host, token);
    this.#tokens.clear();
    sweepTokens(host);
  }

  /** Whether agents may offer what the editor is to run in a terminal. */
  get isPossible(): boolean {
    return this.options.agent !== undefined;
  }

  /**
   * The edits that make an answer, an error as well, one for the editor: of what it would run on the host, none
   * is left but ours. Where two parsers could see different methods, none is left at all.
   */
  edits(answer: Message, place: SignInPlace): Edit[] {
    // The editor of a served connection may be on another machine.
    const isElsewhere = place.isElsewhere === true || this.options.host.isServed;
    const way = { root: place.root, ...waysOf(isElsewhere ? {} : place.editorCapabilities) };
    const edits: Edit[] = [];
    for (const field of answer.fields) {
      if (field.kind === 'hostCommand') edits.push(replacing(field, 'null'));
      if (field.kind !== 'authMethods') continue;
      const json = answer.line.subarray(field.start, field.end);
      const isNull = json.toString('latin1') === 'null';
      const methods = methodsOf(json);
      const kept = (methods ?? []).flatMap((method) => this.#offered(method, way) ?? []);
      const isArray = json[0] === openBracket;
      const isSame =
        kept.length === methods?.length && kept.every((method, index) => method === methods[index]);
      if (!(isNull || (isArray && isSame))) edits.push(replacing(field, `[${kept.join(',')}]`));
    }
    return edits;
  }

  /** As `#forEditor`; a method that cannot be written again, nested too deeply, is left out. */
  #offered(text: string, way: Way): string | undefined {
    try {
      return this.#forEditor(text, way);
    } catch (reason) {
      this.options.log.warn({ reason: messageOf(reason) }, 'a sign-in method cannot be offered');
      return undefined;
    }
  }

  /**
   * A sign-in method for the editor, JSON text: unchanged if it names nothing to run, undefined if it cannot be
   * offered.
   */
  #forEditor(text: string, way: Way): string | undefined {
    const method = parsedUnlessLong(text);
    if (!isObject(method)) return undefined;
    const meta = objectOf(method._meta);
    const isTerminal = method.type === 'terminal';
    if (!variablesOf(method).every((name) => typeof name === 'string' && settable.test(name)))
      return undefined;
    const inTerminal = this.byHand.isInBrowser(method.id) ? this.#inTerminal(method, meta, way) : undefined;
    if (inTerminal !== undefined) return JSON.stringify(inTerminal);
    if (!isTerminal && !Object.hasOwn(meta, 'terminal-auth')) {
      if (!Object.keys(nothingRunnable).some((key) => Object.hasOwn(method, key))) return text;
      return JSON.stringify({ ...method, ...nothingRunnable });
    }
    const { 'terminal-auth': given, ...others } = meta;
    const run = way.runs ? this.#commandFor(given, way) : undefined;
    const _meta = method._meta === undefined ? {} : { _meta: { ...others, 'terminal-auth': run } };
    if (!isTerminal) return JSON.stringify({ ...method, ...nothingRunnable, ..._meta });
    // The editor runs the command that it is configured with, and so the agent's gets these arguments.
    const token = way.terminal
      ? this.#token(this.options.agent?.command, method.args, method.env, way)
      : undefined;
    if (token === undefined && run === undefined) return undefined;
    // For an editor that only knows the other way it is a method like any.
    const asTerminal =
      token === undefined
        ? { type: undefined, ...nothingRunnable }
        : { args: [signInArgument(token)], env: {} };
    // It may have no command, but an editor could take one for what is to be run.
    return JSON.stringify({ ...method, command: undefined, ...asTerminal, ..._meta });
  }

  /**
   * A method that opens a browser, as one that runs the agent's own sign-in in a terminal; undefined for an editor
   * without terminals.
   */
  #inTerminal(method: JsonObject, meta: JsonObject, way: Way): JsonObject | undefined {
    if (!way.terminal && !way.runs) return undefined;
    const token = this.#token(this.byHand.commands!.login, [], {}, way);
    if (token === undefined) return undefined;
    return {
      ...method,
      ...nothingRunnable,
      ...(way.terminal && { type: 'terminal', args: [signInArgument(token)], env: {} }),
      ...(way.runs && { _meta: { ...meta, 'terminal-auth': commandOf(token, method.name) } }),
    };
  }

  /** What Zed and others run, besides their label. */
  #commandFor(given: unknown, way: Way): JsonObject | undefined {
    if (!isObject(given) || typeof given.command !== 'string' || given.command === '') return undefined;
    const token = this.#token([given.command], given.args, given.env, way);
    return token === undefined ? undefined : commandOf(token, given.label);
  }

  /** The token for a command, the same for the same; undefined where a command can have no token. */
  #token(program: unknown, args: unknown, variables: unknown, { root }: Way): string | undefined {
    const { agent, host, log } = this.options;
    const rest = args ?? [];
    const env = pairsOf(variables ?? {});
    if (agent === undefined || env === undefined || !isTexts(rest) || !isTexts(program)) return undefined;
    const workspace = root ?? this.ownRoot;
    const argv = [...program, ...rest];
    const order: TerminalOrder = { kind: 'login', agent: agent.name, workspace, argv, env };
    const key = JSON.stringify(order);
    const tokens = this.#tokens.get(order.workspace) ?? new Map<string, string>();
    this.#tokens.set(order.workspace, tokens);
    const known = tokens.get(key);
    if (known !== undefined || tokens.size >= maxLogins) return known;
    try {
      const token = writeToken(host, order);
      tokens.set(key, token);
      return token;
    } catch (reason) {
      log.warn({ reason: messageOf(reason) }, 'a sign-in in a terminal cannot be offered');
      return undefined;
    }
  }
}

/** Names of the variables that the editor is to set. Source: ACP, authentication, `env_var`. */
function variablesOf({ vars, varName }: JsonObject): unknown[] {
  const listed = Array.isArray(vars)
    ? vars.map((each: unknown) => (isObject(each) ? each.name : each))
    : isObject(vars)
      ? Object.keys(vars)
      : [];
  return varName === undefined ? listed : [...listed, varName];
}

/** What an editor runs for a token, with a label if that is one. */
function commandOf(token: string, label: unknown): JsonObject {
  return { ...(typeof label === 'string' && { label }), ...hostCommand(token), env: {} };
}

/** Which of the two ways the editor knows. */
function waysOf({ auth, _meta }: JsonObject): Omit<Way, 'root'> {
  return {
    terminal: objectOf(auth).terminal === true,
    runs: (objectOf(_meta)['terminal-auth'] ?? false) !== false,
  };
}

/** The texts of the sign-in methods; undefined where a key that is looked at stands twice. */
function methodsOf(json: Buffer): string[] | undefined {
  const walk = new Walk(json);
  // All of it was read with the line, so that only the number of methods can be what is wrong.
  if (walk.value(0, methodsPlan) < 0 || walk.hasDuplicate) return undefined;
  const methods = walk.fields.filter((field) => field.kind === 'method');
  return methods.map(({ start, end }) => json.toString('utf8', start, end));
}

/** Environment variables, of an object as in v1 or a list as in v2; undefined for anything else. */
function pairsOf(value: unknown): [string, string][] | undefined {
  const pairs = Array.isArray(value)
    ? value.map((each: unknown) => (isObject(each) ? [each.name, each.value] : []))
    : isObject(value)
      ? Object.entries(value)
      : [[]];
  return pairs.every(isPair) ? pairs : undefined;
}

function isPair(value: unknown[]): value is [string, string] {
  const [name, text] = value;
  return isVariableName(name) && isPassable(text);
}

/** Texts that can be arguments of a command: NUL would end one. */
function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(isPassable);
}
