/**
 * The answer to `initialize` before the proxy is loaded, because loading takes longer. Everything unusual is left to
 * the proxy, which gets all that was read.
 */
import { readSync, writeSync } from 'node:fs';
import * as fields from '../../rpc/protocol/fields';
import { readHello, resultFor, type HelloOptions, type KnownAnswer, type Profiles } from '../../acp';
import { resultLine } from '../../rpc/answer';
import { LineReader } from '../../rpc/line';
import { wantedIn } from '../../rpc/json';
import { scanCall } from '../../rpc/message';
import { unlessFails } from '../../system/unless';

const stdin = 0;
const stdout = 1;
/** Of the editor's first bytes; a longer line is left to the proxy. */
const maxBytes = 64 * 1024;
/** Of the answer, as whoever writes more may have to wait for the editor to read. */
const maxAnswerBytes = 4_096;

/** What an answer is made from; `profiles` may know one. */
type EarlyAnswerOptions = HelloOptions & { readonly profiles: Profiles };

/** What has passed between the editor and us before there was a proxy. */
export interface EarlyAnswer {
  /** What the editor has sent: the proxy reads it first. */
  readonly received: Buffer;
  /** What the first line, an `initialize`, was answered with; undefined: it was not. */
  readonly answer?: KnownAnswer;
  /** The part of that answer that the editor did not take yet. */
  readonly unsent?: Buffer;
}

/** Waits for the editor's first bytes and answers them if a profile can. Never fails. */
export function answerEarly(options: EarlyAnswerOptions): EarlyAnswer {
  const received = read();
  const known = knownAnswer(received, options);
  if (known === undefined) return { received };
  const bytes = resultLine(known.id, known.result);
  const sentBytes = bytes.length > maxAnswerBytes ? 0 : write(bytes);
  return sentBytes === 0
    ? { received }
    : { received, answer: known.answer, unsent: bytes.subarray(sentBytes) };
}

/** The answer to the first of these lines; the id that it is for, and the result for this editor, JSON texts. */
function knownAnswer(
  received: Buffer,
  options: EarlyAnswerOptions,
): { id: string; result: string; answer: KnownAnswer } | undefined {
  try {
    const reader = new LineReader({ maxLineBytes: maxBytes, maxSearchBytes: 0 });
    reader.push(received);
    const line = reader.next();
    if (!Buffer.isBuffer(line)) return undefined;
    const message = scanCall(line, wantedIn(fields.initializeParams));
    if (message.kind !== 'request' || message.method !== 'initialize') return undefined;
    const answer = options.profiles.find(readHello(message, options).childParams);
    if (answer === undefined) return undefined;
    return { id: message.id!, result: resultFor(message, answer.result), answer };
  } catch {
    // The proxy says what is wrong with it.
    return undefined;
  }
}

/** Empty if the read would have to wait: the proxy then reads stdin as a stream. */
function read(): Buffer {
  const bytes = Buffer.allocUnsafe(maxBytes);
  return bytes.subarray(0, unlessFails(() => readSync(stdin, bytes)) ?? 0);
}

/** Returns how many bytes were taken. */
function write(bytes: Buffer): number {
  return unlessFails(() => writeSync(stdout, bytes)) ?? 0;
}
