/** Asks somebody whether a command may connect to a place for which there is no rule, at the command's end. */
import type { Readable, Writable } from 'node:stream';
import { domainToUnicode } from 'node:url';
import type { CommandLink } from '../../rpc/status';
import { messageOf } from '../../errors';
import { printableLine } from '../../system/quoted';
import { within } from '../../system/time-limit';

/** What was answered: a signal that is aborted once the place is no longer allowed, or `false`. */
export type Granted = AbortSignal | false;

/**
 * Asks about `place`, a host and a port; `undefined`: nobody could be asked, or nobody has answered in time. Several who
 * ask about the same place share one question. It never rejects.
 */
export type Ask = (place: string) => Promise<Granted | undefined>;

/** How long a connection waits for an answer, in milliseconds. */
export const askMs = 30_000;

/** Somebody who was typing that short before a key did not mean it as the answer, in milliseconds. */
const startleMs = 500;

/** What Ctrl-C is to a command with a terminal. */
const interrupt = 3;

/** Longest place that is shown whole, in characters. */
const maxShown = 200;

/** Asks the program that holds the other end of a link. */
export function askOnLink(link: CommandLink): Ask {
  const granted = new Map<string, AbortController>();
  link.onEnded = (places) => {
    for (const place of places) {
      granted.get(place)?.abort();
      granted.delete(place);
    }
  };
  return sharing(async (place) => {
    const isAllowed = await link.ask(place, askMs);
    if (isAllowed !== true) return isAllowed;
    const grant = granted.get(place) ?? new AbortController();
    granted.set(place, grant);
    return grant.signal;
  });
}

/**
 * A place as people see it. Somebody inside chose the name; the owner of a name is told by its end. A name in other letters than
 * ASCII's, which may look like those, has them behind it.
 */
export function shownPlace(place: string): string {
  const [host = ''] = place.split(':');
  const letters = /(?:^|\.)xn--/i.test(host) ? domainToUnicode(host) : '';
  const text = cut(place.replace(/[^\w.:[\]-]/g, '\ufffd'));
  return letters === '' ? text : `${text} (${cut(letters.replace(/[^\p{L}\p{M}\p{N}.-]/gu, '\ufffd'))})`;
}

function cut(text: string): string {
  return text.length <= maxShown ? text : `…${text.slice(-maxShown)}`;
}

/** A terminal on which somebody may be asked, while a command has it. */
export interface AskingTerminal {
  /** Our own, whose bytes are piped to the command. */
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly isRaw?: boolean };
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** What the command prints, each with where it is piped to; empty while none runs. */
  readonly output: () => readonly (readonly [from: Readable, to: Writable])[];
  /** Where `stdin` is piped to; undefined while no command runs. */
  readonly input: () => Writable | undefined;
  readonly remember: (place: string) => void;
}

/**
 * Asks on the terminal, one question after the other; `undefined` where `stdin` or `stderr` is no terminal. An answer
 * holds as long as the command runs.
 */
export function askOnTerminal(terminal: AskingTerminal): Ask | undefined {
  const { stdin, stderr, remember } = terminal;
  if (stdin.isTTY !== true || stderr.isTTY !== true) return undefined;
  const known = new Map<string, Granted>();
  let last: Promise<unknown> = Promise.resolve();
  return sharing((place) => {
    const before = known.get(place);
    if (before !== undefined) return Promise.resolve(before);
    const untilMs = performance.now() + askMs;
    const answer = last.then(async () => {
      const key = await keyFor(terminal, place, untilMs - performance.now());
      if (key === undefined) return undefined;
      const granted = key !== 'n' && new AbortController().signal;
      known.set(place, granted);
      if (key === 'a') tryTo(() => remember(place), stderr);
      return granted;
    });
    last = answer;
    return within(askMs, answer);
  });
}

/** Whoever asks about a place that is being asked about gets the same answer. */
function sharing(ask: Ask): Ask {
  const open = new Map<string, Promise<Granted | undefined>>();
  return (place) => {
    const asked = open.get(place);
    if (asked !== undefined) return asked;
    const answer = ask(place).finally(() => open.delete(place));
    open.set(place, answer);
    return answer;
  };
}

type Key = 'o' | 'a' | 'n';

const meanings =
  'o, y: allow it for this command; a: allow it in this workspace from now on; n: refuse it; Ctrl-C: refuse it, and interrupt the command';

const outcomes: Readonly<Record<Key, string>> = { o: 'allowed', a: 'allowed from now on', n: 'refused' };

/**
 * Ends what the command may have begun: a sequence that would swallow the question, colours or letters in which it could
 * not be read, and lines that are cut. Source: xterm, "Control Sequences"; CAN, ST, SGR, SCS, SI, DECAWM.
 */
const legible = '\x18\x1b\\\x1b[0m\x1b(B\x0f\x1b[?7h';

/**
 * Shows one question; resolves with the key that answers it, or with `undefined` after `limitMs`, at Ctrl-C, or when the
 * command or the input ends. All other input reaches the command after the question, and what the command prints waits
 * until then: it could show the question of another place.
 */
function keyFor(
  { stdin, stderr, input, output }: AskingTerminal,
  place: string,
  limitMs: number,
): Promise<Key | undefined> {
  const to = input();
  if (to?.writable !== true || limitMs <= 0) return Promise.resolve(undefined);
  // A terminal that is not raw gives whole lines, and shows what is typed.
  const then = stdin.isRaw === true ? '' : ', then Enter';
  const question = `${legible}\r\ncai: the command wants to connect to ${shownPlace(place)}: allow? [o]nce, for this command; [a]lways here; [n]o${then}: `;
  let quietSince = performance.now();
  const held: Buffer[] = [];
  const printed = output();
  return new Promise((resolve) => {
    const end = (key?: Key): void => {
      clearTimeout(limit);
      stdin.off('data', take).off('end', giveUp);
      to.off('close', giveUp);
      stderr.write(`${key === undefined ? 'no answer' : outcomes[key]}\r\n`);
      if (to.writable) {
        for (const chunk of held) to.write(chunk);
        stdin.pipe(to);
      }
      for (const [from, onto] of printed) from.pipe(onto, { end: false });
      resolve(key);
    };
    const giveUp = (): void => end();
    const take = (chunk: Buffer): void => {
      const [, key] = /^([oany?])[\r\n]*$/.exec(chunk.toString('latin1').toLowerCase()) ?? [];
      const isMeant = performance.now() - quietSince >= startleMs;
      if (key !== undefined && isMeant) {
        if (key === '?') stderr.write(`${meanings}\r\n${question}`);
        else end(key === 'y' ? 'o' : (key as Key));
        return;
      }
      quietSince = performance.now();
      held.push(chunk);
      if (chunk.includes(interrupt)) end();
    };
    const limit = setTimeout(giveUp, limitMs);
    stdin.unpipe(to).on('data', take).once('end', giveUp);
    to.once('close', giveUp);
    for (const [from, onto] of printed) from.unpipe(onto);
    stderr.write(question);
    stdin.resume();
  });
}

function tryTo(action: () => void, stderr: Writable): void {
  try {
    action();
  } catch (reason) {
    stderr.write(`cai: this cannot be remembered: ${printableLine(messageOf(reason))}\r\n`);
  }
}
