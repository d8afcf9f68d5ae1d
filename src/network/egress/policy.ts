/** Whether a container may connect to a place: rules, what the user decided, and the user, who is asked. */
import { isIP } from 'node:net';
import { messageOf } from '../../errors';
import type { Config } from '../../config/config';
import { names, parseRule, placeOfUrl, placeText, type HostRule, type Place } from '../../config/host-rules';
import { isInternal } from './addresses';
import type { Ask } from './ask';
import type { Decisions, RuleKind } from './decisions';
import type { Outcome } from './network-log';

/** Why a connection is not made, in a sentence for whoever wanted it, and the status of the HTTP answer. */
export class Refusal extends Error {
  /** `message` is shown to whoever wanted the connection. */
  constructor(
    message: string,
    /** Of the HTTP answer. */
    readonly status: 400 | 403 | 502 | 503 | 504 = 403,
    /** Whether the user need not be told. */
    readonly isQuiet = false,
  ) {
    super(message);
  }
}

interface Decided extends Readonly<Record<RuleKind, readonly HostRule[]>> {
  /** As `Decisions` has it. */
  readonly fault: string | undefined;
}

/** Ports of a rule that allows and names none. */
const usualPorts = [80, 443];

export interface PolicyOptions {
  readonly network: Pick<Config['network'], 'egress' | 'allow' | 'deny' | 'npmRegistry' | 'pipIndex'>;
  /** Rules that come with `cai`. */
  readonly listed: readonly string[];
  /** Places that only a rule of the user's opens, and about which nobody is asked. */
  readonly telemetry: readonly string[];
  /** Whether nobody is asked about a name because it stands for this machine. */
  readonly isMachine: (name: string) => boolean;
  /** What the user has decided for the workspace, as it is now. */
  readonly decisions: () => Decisions;
  /** Asks the user; `undefined`: nobody can be asked. */
  readonly ask: Ask | undefined;
  /** Is told of each place, why it may be reached or not, and what then becomes of it; `isQuiet`: the user need not be told. */
  readonly note: (place: string, outcome: Outcome, because: string, isQuiet?: boolean) => void;
}

export class Policy {
  readonly #allowed: readonly HostRule[];
  readonly #denied: readonly HostRule[];
  readonly #listed: readonly HostRule[];
  readonly #telemetry: readonly HostRule[];
  /** What the user has allowed, by place. */
  readonly #granted = new Map<string, AbortSignal>();

  /** Rules of the configuration hold as long as the command runs. */
  constructor(private readonly options: PolicyOptions) {
    const { network, listed, telemetry } = options;
    const own = [network.npmRegistry, network.pipIndex].flatMap((url) => placeOfUrl(url ?? '') ?? []);
    this.#allowed = rulesOf(network.allow);
    this.#denied = rulesOf(network.deny);
    this.#listed = rulesOf([...listed, ...own.map(placeText)]);
    this.#telemetry = rulesOf(telemetry);
  }

  /** Resolves if the place may be reached; rejects with a `Refusal`. Nothing is looked up of a name. */
  async admit(place: Place): Promise<void> {
    const text = placeText(place);
    try {
      this.options.note(text, 'allowed', await this.#admit(place, text));
    } catch (reason) {
      if (reason instanceof Refusal) this.options.note(text, 'refused', reason.message, reason.isQuiet);
      throw reason;
    }
  }

  /** Tells by the rules and answers of this moment whether a place that was admitted would be admitted again. */
  stillAdmits(): (place: Place) => boolean {
    const decided = this.#decided();
    return (place) => {
      const text = placeText(place);
      try {
        const rule = this.#ruleFor(place, text, decided);
        return rule !== undefined || this.#granted.get(text)?.aborted === false;
      } catch {
        // It is refused by now.
        return false;
      }
    };
  }

  /** Notes that open connections to a place were ended, because it would not be admitted again. */
  noteEnd(place: Place): void {
    const text = placeText(place);
    let because = 'what had allowed it has ended';
    try {
      this.#ruleFor(place, text, this.#decided());
    } catch (reason) {
      because = messageOf(reason);
    }
    this.options.note(text, 'ended', because);
  }

  /** Notes that a connection to a place which was admitted stands, and how it was made. */
  noteConnection(place: Place, way: string): void {
    this.options.note(placeText(place), 'connected', way);
  }

  /** Notes that a place which was admitted could not be reached. */
  noteFailure(place: Place, because: string): void {
    this.options.note(placeText(place), 'failed', because);
  }

  /** The addresses of a name that may be dialled. Fails with a `Refusal` for a name without such an address. */
  permitted(place: Place, addresses: readonly string[]): string[] {
    const decided = this.#decided();
    const denied = [...this.#denied, ...decided.deny];
    const allowed = [...this.#allowed, ...decided.allow];
    const found = addresses.filter((host) => {
      const at = { host, port: place.port };
      if (matching(denied, at, 'any') !== undefined) return false;
      return !isInternal(host) || matching(allowed, at, usualPorts) !== undefined;
    });
    if (found.length > 0) return found;
    const text = placeText(place);
    const [host = ''] = addresses;
    const at = { host, port: place.port };
    const remedy =
      portRemedy(at) ?? `if that is right, run "cai network allow ${placeText(at)}" on your machine`;
    const why = `${text} leads to ${host}, which is refused or not public: ${remedy}`;
    this.options.note(text, 'refused', why);
    throw new Refusal(why);
  }

  #decided(): Decided {
    const { allow, deny, fault } = this.options.decisions();
    return { allow: rulesOf(allow), deny: rulesOf(deny), fault };
  }

  /** The rule by which it is allowed; `undefined`: none speaks of it. Fails with a `Refusal`. */
  #ruleFor(place: Place, text: string, decided: Decided): string | undefined {
    if (decided.fault !== undefined) throw new Refusal(decided.fault);
    const denying = matching(this.#denied, place, 'any') ?? matching(decided.deny, place, 'any');
    if (denying !== undefined)
      throw new Refusal(`${text} is refused by the rule "${denying}": see "cai network" on your machine`);
    const allowing = matching(this.#allowed, place, usualPorts) ?? matching(decided.allow, place, usualPorts);
    if (allowing !== undefined) return `rule "${allowing}"`;
    if (isIP(place.host) !== 0 && isInternal(place.host))
      throw new Refusal(
        `${text} is this machine or in a network that is not public: ${portRemedy(place) ?? remedyFor(text)}`,
      );
    if (matching(this.#telemetry, place, 'any') !== undefined)
      throw new Refusal(`${text} only collects data about usage: ${remedyFor(text)}`, 403, true);
    const listed = matching(this.#listed, place, usualPorts);
    if (listed !== undefined) return `built-in rule "${listed}"`;
    if (this.options.isMachine(place.host))
      throw new Refusal(
        `${text} is this machine: ${portRemedy({ ...place, host: '127.0.0.1' }) ?? remedyFor(text)}`,
      );
    return undefined;
  }

  /** Why it is allowed. */
  async #admit(place: Place, text: string): Promise<string> {
    const { network, ask } = this.options;
    const rule = this.#ruleFor(place, text, this.#decided());
    if (rule !== undefined) return rule;
    if (network.egress !== 'ask' || ask === undefined)
      throw new Refusal(`${text} is not allowed from this container: ${remedyFor(text)}`);
    const answer = await ask(text);
    if (answer) {
      this.#granted.set(text, answer);
      return 'the user allowed it';
    }
    throw new Refusal(
      answer === false
        ? `${text} was refused by the user: ${remedyFor(text)}`
        : `${text} is not allowed from this container, and nobody answered whether it is to be: ${remedyFor(text)}`,
    );
  }
}

/** What to do where a program wants a port of this machine; `undefined`: it is another machine, or no port to share. */
function portRemedy({ host, port }: Place): string | undefined {
  if (!/^127\.|^::1$/.test(host) || port < 1_024) return undefined;
  return `to let containers reach this port of your machine, add ${port} to "host_ports" below [network] in your configuration`;
}

function remedyFor(place: string): string {
  return `to allow it, run "cai network allow ${place}" on your machine`;
}

/** The text of the first rule that names the place. */
function matching(
  rules: readonly HostRule[],
  place: Place,
  usual: readonly number[] | 'any',
): string | undefined {
  return rules.find((rule) => names(rule, place, usual))?.text;
}

/** What is no rule counts for nothing: whoever wrote it has been told. */
function rulesOf(texts: readonly string[]): HostRule[] {
  return texts.flatMap((text) => parseRule(text) ?? []);
}
