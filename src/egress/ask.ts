/** Asks somebody whether a command may connect to a place for which there is no rule, at the command's end. */
import type { Duplex, Readable, Writable } from 'node:stream';
import { placeQuestions } from '../agent/status';
import { messageOf } from '../errors';
import { printableLine } from '../system/quoted';
import { within } from '../system/time-limit';

/**
 * Asks about `place`, a host and a port; `undefined`: nobody could be asked, or nobody has answered in time. Several who
 * ask about the same place share one question. It never rejects.
 */
export type Ask = (place: string) => Promise<boolean | undefined>;

/** How long a connection waits for an answer, in milliseconds. */
export const askMs = 30_000;

/** Somebody who was typing that short before a key did not mean it as the answer, in milliseconds. */
const startleMs = 500;

/** What Ctrl-C is to a command with a terminal. */
const interrupt = 3;

/** Longest place that is shown whole, in characters. */
const maxShown = 200;

/** Asks the program that holds the other end of `lifeline`. */
export function askOnLink(lifeline: Duplex): Ask {
  const ask = placeQuestions(lifeline);
  return sharing((place) => ask(place, askMs));
}

/** A place as people see it, also as markup. Somebody inside chose the name; whose it is, its end says. */
export function shownPlace(place: string): string {
  const text = place.replace(/[^\w.:[\]-]/g, '\ufffd');
  return text.length <= maxShown ? text : `…${text.slice(-maxShown)}`;
}

/** A terminal on which somebody may be asked, while a command has it. */
export interface AskingTerminal {
  /** Our own, whose bytes are piped to the command. */
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly isRaw?: boolean };
  /** Our own. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Where `stdin` is piped to; undefined while no command runs. */
  readonly input: () => Writable | undefined;
  /** Allows the place from now on. */
  readonly remember: (place: string) => void;
}

/**
 * Asks on the terminal, one question after the other; `undefined` where `stdin` or `stderr` is no terminal. An answer
 * holds as long as the command runs.
 */
export function askOnTerminal(terminal: AskingTerminal): Ask | undefined {
  const { stdin, stderr, remember } = terminal;
  if (stdin.isTTY !== true || stderr.isTTY !== true) return undefined;
  const known = new Map<string, boolean>();
  let last: Promise<unknown> = Promise.resolve();
  return sharing((place) => {
    const isAllowed = known.get(place);
    if (isAllowed !== undefined) return Promise.resolve(isAllowed);
    const untilMs = performance.now() + askMs;
    const answer = last.then(async () => {
      const key = await keyFor(terminal, place, untilMs - performance.now());
      if (key === undefined) return undefined;
      known.set(place, key !== 'n');
      if (key === 'a') tryTo(() => remember(place), stderr);
      return key !== 'n';
    });
    last = answer;
    return within(askMs, answer);
  });
}

/** Whoever asks about a place that is being asked about gets the same answer. */
function sharing(ask: Ask): Ask {
  const open = new Map<string, Promise<boolean | undefined>>();
  return (place) => {
    const asked = open.get(place);
    if (asked !== undefined) return asked;
    const answer = ask(place).finally(() => open.delete(place));
    open.set(place, answer);
    return answer;
  };
}

type Key = 'o' | 'a' | 'n';

const outcomes: Readonly<Record<Key, string>> = { o: 'allowed', a: 'allowed from now on', n: 'refused' };

/**
 * Shows one question; resolves with the key that answers it, or with `undefined` after `limitMs`, at Ctrl-C, or when the
 * command or the input ends. All other input reaches the command, after the question.
 */
function keyFor(
  { stdin, stderr, input }: AskingTerminal,
  place: string,
  limitMs: number,
): Promise<Key | undefined> {
  const to = input();
  if (to?.writable !== true || limitMs <= 0) return Promise.resolve(undefined);
  // A terminal that is not raw gives whole lines, and shows what is typed.
  const then = stdin.isRaw === true ? '' : ', then Enter';
  let quietSince = performance.now();
  const held: Buffer[] = [];
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
      resolve(key);
    };
    const giveUp = (): void => end();
    const take = (chunk: Buffer): void => {
      const [, key] = /^([oan])[\r\n]*$/i.exec(chunk.toString('latin1')) ?? [];
      const isMeant = performance.now() - quietSince >= startleMs;
      if (key !== undefined && isMeant) {
        end(key.toLowerCase() as Key);
        return;
      }
      quietSince = performance.now();
      held.push(chunk);
      if (chunk.includes(interrupt)) end();
    };
    const limit = setTimeout(giveUp, limitMs);
    stdin.unpipe(to).on('data', take).once('end', giveUp);
    to.once('close', giveUp);
    stderr.write(
      `\r\ncai: the command wants to connect to ${shownPlace(place)}: allow? [o]nce, for this command; [a]lways here; [n]o${then}: `,
    );
    stdin.resume();
  });
}

/** Does what may fail and must not end the command. */
function tryTo(action: () => void, stderr: Writable): void {
  try {
    action();
  } catch (reason) {
    stderr.write(`cai: this cannot be remembered: ${printableLine(messageOf(reason))}\r\n`);
  }
}
