/** What an engine or a cluster answers, which may be another program, or one that was taken over: bodies have a most. */
import type { Readable } from 'node:stream';
import { wholeOf } from '../../system/streams/at-most';

/** In bytes: the lists of a large engine have some MiB; a refusal is a sentence, or some. */
const maxBytes = 64 * 2 ** 20;
const maxRefusalBytes = 2 ** 20;

/** An answer that is read as a whole. Rejects for one that is longer. */
export async function wholeAnswer(answer: Readable): Promise<Buffer> {
  return await wholeOf(answer, maxBytes, tooLong);
}

/** What a refusal says. Rejects as `wholeAnswer`. */
export async function refusalText(answer: Readable): Promise<string> {
  return (await wholeOf(answer, maxRefusalBytes, tooLong)).toString();
}

function tooLong(): Error {
  return new Error('its answer is longer than that of any engine');
}
