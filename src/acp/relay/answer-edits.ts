/** What an agent's answer becomes for the editor, beside its ids and paths: ways to sign in, and errors. */
import type { JsonObject } from '../../rpc/json';
import { fieldOf, textOf, type Message } from '../../rpc/message';
import { replacing, type Edit } from '../../rpc/splice';
import type { Child } from '../child/child';
import type { Call } from '../sessions/editor-call';
import type { SignIn } from '../sign-in/sign-in';

/** Longest error message, in bytes of JSON text: editors show all of it, some in a place that cannot be scrolled. */
const maxMessageBytes = 16 * 1024;

/**
 * The edits that leave an editor nothing of an agent to run when somebody signs in, no endless message, and that say
 * in an error's message what to do where a sign-in is needed. `call`: what is answered.
 */
export function answerEdits(
  core: { readonly signIn: SignIn; readonly editorCapabilities: JsonObject },
  child: Child,
  answer: Message,
  call?: Call,
): Edit[] {
  const { editorCapabilities, signIn } = core;
  const hint = answer.isError ? signIn.byHand.hintFor(answer, call?.message) : undefined;
  return [...signIn.edits(answer, { root: child.root, editorCapabilities }), ...messageEdits(answer, hint)];
}

/** The edit of an error's message: a long one is shortened, and `hint` is added. */
function messageEdits(answer: Message, hint: string | undefined): Edit[] {
  const field = fieldOf(answer, 'errorMessage');
  if (field?.isString !== true) return [];
  const isLong = field.end - field.start > maxMessageBytes;
  if (!isLong && hint === undefined) return [];
  const text = textOf(answer, field);
  // A surrogate pair is not cut in two.
  const shown = isLong ? `${text.slice(0, maxMessageBytes / 4).replace(/[\ud800-\udbff]$/, '')} …` : text;
  return [replacing(field, JSON.stringify(hint === undefined ? shown : `${shown} (${hint})`))];
}
