/**
 * A request to an engine that is stopped or stuck, or behind a network that is gone, would never end. Slow is not
 * silent, so the engine is asked for a sign of life before a request is given up.
 */
import { within } from '../../system/time-limit';

export interface SilenceLimits {
  /** How long it may take before the engine is asked whether it is there, and then from time to time (milliseconds). */
  readonly lookMs: number;
  /** How long the engine may take to give a sign of life, in milliseconds. */
  readonly signMs: number;
  /** How often an engine is asked that gives signs. */
  readonly maxLooks: number;
}

/** The failure of a request that an engine leaves without an answer. */
export class Silent extends Error {
  /** `seconds` is how long it was waited for; `isThere`: the engine answers other requests. */
  constructor(
    readonly seconds: number,
    readonly isThere: boolean,
  ) {
    super(`no answer for ${seconds} s`);
  }

  /** What to say of it: `name` is the engine's, and `what` it was to do. */
  told(name: string, what: string): string {
    const which = this.isThere
      ? 'still answers, but has not done that: it is overloaded, or stuck'
      : 'does not answer';
    return `${name} was to ${what} and ${which} (waited for ${this.seconds} s)`;
  }
}

/** For a request that takes no time in a sound engine: it fails after 90 s. */
const usualLimits: SilenceLimits = { lookMs: 10_000, signMs: 10_000, maxLooks: 9 };

/**
 * Calls `onSilent` once if a request stays without an answer; the caller ends the watch by the returned function.
 * `askForSign` rejects if the engine gives no sign.
 */
export function watchSilence(
  askForSign: (signal: AbortSignal) => Promise<unknown>,
  onSilent: (failure: Silent) => void,
  limits: Partial<SilenceLimits> = {},
): () => void {
  const { lookMs, signMs, maxLooks } = { ...usualLimits, ...limits };
  let isOver = false;
  let looks = 0;
  const later = () => setTimeout(() => void look(), lookMs).unref();
  const look = async (): Promise<void> => {
    const sign = askForSign(AbortSignal.timeout(signMs)).then(
      () => true,
      () => false,
    );
    const isThere = (await within(signMs, sign)) ?? false;
    if (isOver) return;
    looks++;
    if (isThere && looks < maxLooks) timer = later();
    else onSilent(new Silent((looks * lookMs + (isThere ? 0 : signMs)) / 1_000, isThere));
  };
  let timer = later();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
