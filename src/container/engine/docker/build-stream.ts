/** What an engine tells while it builds or pulls an image. */
import { stripVTControlCharacters } from 'node:util';
import { CaiError } from '../../../errors';
import type { BuildEvent } from '../image-store';
import { LineSplitter } from '../../../system/streams/line-splitter';
import { objectIn } from '../../../system/unless';

/** How much of a failed build its error tells: of the last lines, and of the first that name a cause. */
const tailLines = 20;
const causeLines = 10;
/** Of an instruction no more is told, in characters. */
const instructionLength = 80;

/** A longer line of the engine says nothing that we would read, in characters. */
const maxLine = 2 ** 20;

/** What npm and apt begin the lines with that say what was wrong. */
const isCause = /^(?:npm (?:error|ERR!)|E:) /;

/**
 * Reads the engine's answer to a build or a pull to its end. Rejects with `CaiError('IMAGE')` if it tells of a
 * failure: first the lines that name a cause, then the last that the step printed; `what` is what was tried, as in
 * "cannot ...". Source: Docker Engine API, ImageBuild and ImageCreate: a JSON object per line, the HTTP status
 * is 200 in any case.
 */
export async function followBuild(
  answer: NodeJS.ReadableStream | AsyncIterable<Uint8Array>,
  what: string,
  onEvent: (event: BuildEvent) => void,
): Promise<void> {
  const causes: string[] = [];
  const printed: string[] = [];
  let unfinished = '';
  const tell = (line: string): void => {
    const text = stripVTControlCharacters(line).trimEnd();
    if (text === '') return;
    const event = lineEvent(text);
    // Steps that came to their end are not what failed.
    if (event.kind === 'step') causes.length = printed.length = 0;
    const kept = isCause.test(text) && causes.length < causeLines ? causes : printed;
    kept.push(event.kind === 'step' ? shortened(text) : text);
    if (printed.length > tailLines) printed.shift();
    onEvent(event);
  };
  for await (const message of messagesOf(answer as AsyncIterable<Uint8Array>)) {
    const { stream, status, id, progress } = message;
    const failure = message.errorDetail?.message ?? message.error;
    if (stream !== undefined) {
      // A line may come in pieces; a carriage return is how programs draw over a line.
      const lines = (unfinished + stream).split(/\r\n|[\r\n]/);
      unfinished = lines.pop()!.slice(-maxLine);
      lines.forEach(tell);
    } else if (failure !== undefined) {
      tell(unfinished);
      const before = causes.length > 0 && printed.length > 0 ? ['Printed last, besides:'] : [];
      const lines = [`cannot ${what}: ${withoutScript(failure.trim())}`, ...causes, ...before, ...printed];
      throw new CaiError('IMAGE', lines.join('\n'));
    } else if (status !== undefined && id !== undefined) {
      onEvent({ kind: 'pull', id, text: progress === undefined ? status : `${status} ${progress}` });
    } else if (status !== undefined) {
      tell(status);
    }
  }
  tell(unfinished);
}

/** Docker says `Step 1/9 : RUN ...`, podman `STEP 1/9: RUN ...`, and before it `[1/2] ` if there are two stages. */
function lineEvent(text: string): BuildEvent {
  const [, step, total, instruction] = /^(?:\[\d+\/\d+\] )?step (\d+)\/(\d+) ?: (.*)$/i.exec(text) ?? [];
  return instruction === undefined
    ? { kind: 'log', text }
    : { kind: 'step', text: instruction, step: Number(step), total: Number(total) };
}

/** Docker repeats the whole script: `The command '...' returned ...`; so does podman: `STEP "...": while ...`. */
function withoutScript(failure: string): string {
  return failure.replace(/(?<=The command '|STEP ")[^]*(?=' returned |": while )/, shortened);
}

function shortened(text: string): string {
  return text.length <= instructionLength ? text : `${text.slice(0, instructionLength - 3)}...`;
}

interface Message {
  readonly stream?: string;
  readonly status?: string;
  readonly id?: string;
  readonly progress?: string;
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
}

async function* messagesOf(answer: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  const lines = new LineSplitter(maxLine);
  for await (const chunk of answer)
    for (const line of lines.take(decoder.decode(chunk, { stream: true }))) yield objectIn(line) ?? {};
  yield objectIn(lines.rest) ?? {};
}
