/** What an engine tells while it builds or pulls an image. */
import { stripVTControlCharacters } from 'node:util';
import { CaiError } from '../errors';

/** One thing that happened, in order. Texts are single lines without control sequences. */
export type BuildEvent =
  /** A step of the Dockerfile begins: the `step`th of `total`, from 1; `text` is its instruction. */
  | { readonly kind: 'step'; readonly text: string; readonly step: number; readonly total: number }
  /** A line that a step or the engine printed. */
  | { readonly kind: 'log'; readonly text: string }
  /** How far a layer is; sizes in bytes, `undefined` where the engine tells none. */
  | {
      readonly kind: 'pull';
      readonly id: string;
      readonly status: string;
      readonly current: number | undefined;
      readonly total: number | undefined;
    };

/** How much of a failed build its error tells. */
const tailLines = 20;

/**
 * Reads the engine's answer to a build or a pull to its end. Rejects with `CaiError('IMAGE')` if it tells of a
 * failure, with the last lines that were printed; `what` is what was tried, as in "cannot ...". Source: Docker
 * Engine API, ImageBuild and ImageCreate: a JSON object per line, the HTTP status is 200 in any case.
 */
export async function followBuild(
  answer: AsyncIterable<Uint8Array>,
  what: string,
  onEvent: (event: BuildEvent) => void,
): Promise<void> {
  const printed: string[] = [];
  let unfinished = '';
  const tell = (line: string): void => {
    const text = stripVTControlCharacters(line).trimEnd();
    if (text === '') return;
    printed.push(text);
    if (printed.length > tailLines) printed.shift();
    onEvent(lineEvent(text));
  };
  for await (const message of messagesOf(answer)) {
    const { stream, status, id, progressDetail } = message;
    const failure = message.errorDetail?.message ?? message.error;
    if (stream !== undefined) {
      // A line may come in pieces; a carriage return is how programs draw over a line.
      const lines = (unfinished + stream).split(/\r\n|[\r\n]/);
      unfinished = lines.pop()!;
      lines.forEach(tell);
    } else if (failure !== undefined) {
      tell(unfinished);
      throw new CaiError('IMAGE', [`cannot ${what}: ${failure.trim()}`, ...printed].join('\n'));
    } else if (status !== undefined && id !== undefined) {
      const { current, total } = progressDetail ?? {};
      onEvent({ kind: 'pull', id, status, current, total });
    } else if (status !== undefined) {
      tell(status);
    }
  }
  tell(unfinished);
}

/** Docker says `Step 1/9 : RUN ...`, podman `STEP 1/9: RUN ...`. */
function lineEvent(text: string): BuildEvent {
  const [, step, total, instruction] = /^step (\d+)\/(\d+) ?: (.*)$/i.exec(text) ?? [];
  return instruction === undefined
    ? { kind: 'log', text }
    : { kind: 'step', text: instruction, step: Number(step), total: Number(total) };
}

interface Message {
  readonly stream?: string;
  readonly status?: string;
  readonly id?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
}

async function* messagesOf(answer: AsyncIterable<Uint8Array>): AsyncGenerator<Message> {
  const decoder = new TextDecoder();
  let unfinished = '';
  for await (const chunk of answer) {
    const lines = (unfinished + decoder.decode(chunk, { stream: true })).split('\n');
    unfinished = lines.pop()!;
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as Message;
  }
  if (unfinished.trim() !== '') yield JSON.parse(unfinished) as Message;
}
