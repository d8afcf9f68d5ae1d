/**
 * A request to an engine that is stopped or stuck, or behind a network that is gone, would never end. Slow is not
 * silent, so the engine is asked for a sign of life before a request is given up.
 */
import { within } from '../../system/time-limit';

/** When a request is given up. */
export interface SilenceLimits {
  /** How long it may take before the engine is asked whether it is there, and then from time to time (milliseconds). */
  readonly lookMs: number;
  /** How long the engine may take to give a sign of life, in milliseconds. */
  readonly signMs: number;
  /** How often an engine is asked that gives signs. */
  readonly maxLooks: number;
}

/** For a request that takes no time in a sound engine: it fails after 90 s. */
const usualLimits: SilenceLimits = { lookMs: 10_000, signMs: 10_000, maxLooks: 9 };

/**
 * Calls `onSilent` once, after so many seconds, if a request stays without an answer; the caller ends the watch by the
 * returned function. `askForSign` rejects if the engine gives no sign; `isThere`: it gave one.
 */
export function watchSilence(
  askForSign: (signal: AbortSignal) => Promise<unknown>,
  onSilent: (seconds: number, isThere: boolean) => void,
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
    else onSilent((looks * lookMs + (isThere ? 0 : signMs)) / 1_000, isThere);
  };
  let timer = later();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
