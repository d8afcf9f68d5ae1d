import { CaiError } from '../../errors';
import { objectOf } from '../../system/unless';
import { bodyOf, type Message } from '../message';

/** How much of the details of an agent's error is told, in characters. */
const maxDetails = 500;

/** Whether what came instead of a result is an agent's error with that code. Source of codes: ACP v1, `ErrorCode`. */
export function isAgentError(reason: CaiError | Message | undefined, code: number): boolean {
  if (reason === undefined || reason instanceof CaiError) return false;
  return objectOf(bodyOf(reason)).code === code;
}

/**
 * What an agent's error, which can be anything, says to whoever reads it. Often the message is that of the code alone,
 * and the cause stands in `data`.
 */
export function textOfError(error: unknown): string {
  const { message, data } = objectOf(error);
  const said = typeof message === 'string' ? message : 'the agent has failed, and does not say why';
  const { details } = objectOf(data);
  return typeof details === 'string' ? `${said}: ${details.slice(0, maxDetails)}` : said;
}
