/**
 * A recording may come from a stranger: before its agent is played, all that would act on the editor's machine is taken
 * out. Why: docs/decisions/0017-recording-and-usage.md.
 */
import { wantedIn } from '../../rpc/json';
import { scan, type Message, type Plans } from '../../rpc/message';
import { editedText } from '../../rpc/splice';
import { restrictionOf } from '../../rpc/protocol/method-rows';
import * as fields from '../../rpc/protocol/fields';
import type { RecordedLine } from './recording';
import type { SignIn } from '../sign-in/sign-in';

const result = wantedIn(fields.initializeResult);
const plans: Plans = {
  params: () => undefined,
  result: () => result,
  error: wantedIn(fields.errorObject),
};

/**
 * The lines without requests that would act on the editor's machine, and without their answers. `signIn` has no agent
 * and so removes all commands; `note` gets a sentence for each line that is left out or changed.
 */
export function harmless(
  lines: readonly RecordedLine[],
  options: { child: number | undefined; writesFiles: boolean; signIn: SignIn; note: (text: string) => void },
): RecordedLine[] {
  const ofAgent = options.child === undefined ? 'to editor' : 'from agent';
  /** Ids of requests that are left out, until their answer. */
  const gone = new Set<string>();
  return lines.flatMap((line) => {
    if (line.child !== options.child) return [line];
    const message = scan(line.bytes, plans);
    if (line.side !== ofAgent) {
      return message.kind === 'response' && gone.delete(message.id!) ? [] : [line];
    }
    const { number } = line;
    const isDefect = message.kind === 'defect';
    if (isDefect || actsThere(message, options.writesFiles)) {
      if (message.id !== undefined) gone.add(message.id);
      options.note(
        `line ${number} of the recording is left out: ${isDefect ? 'no message' : message.method}`,
      );
      return [];
    }
    const edits = options.signIn.edits(message, { root: undefined, editorCapabilities: {} });
    if (edits.length === 0) return [line];
    options.note(`line ${number} of the recording is played without its sign-in commands`);
    return [{ ...line, bytes: Buffer.from(editedText(message.line, 0, message.line.length, edits)) }];
  });
}

function actsThere({ kind, method }: Message, writesFiles: boolean): boolean {
  if (kind === 'response' || method === 'fs/read_text_file') return false;
  if (method === 'fs/write_text_file') return !writesFiles;
  return restrictionOf(method) !== undefined;
}
