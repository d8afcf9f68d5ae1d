/** Sign-ins in the files of agents: the tokens that such a file holds, and the file without them. */
import { unlessFails } from '../system/state-folder';
import type { AgentSignIn, Tree } from './agent-sign-ins';
import { placeholderOf, type SignIn } from './kept-sign-in';
import { readPlaceholder, type TokenName } from './token-placeholder';

/** What can be kept of it. */
export type StoredSignIn = Pick<SignIn, 'tokens' | 'answer' | 'expiresAt'>;

/** The real tokens in an agent's file; `undefined` if none is there, whatever else is. */
export function storedIn({ stored }: Pick<AgentSignIn, 'stored'>, text: string): StoredSignIn | undefined {
  return unlessFails(() => {
    const { tokens: all, scope: words, expiresAt } = stored.read(JSON.parse(parted(text).json) as Tree);
    const found = Object.entries(all).map(([name, value]) => [name, [value].flat().find(isToken)] as const);
    const tokens = Object.fromEntries(found.filter(([, token]) => token !== undefined)) as SignIn['tokens'];
    if (tokens.access === undefined && tokens.refresh === undefined) return undefined;
    const scope = [words ?? []].flat().map(String).join(' ');
    // Claude drops tokens that come without a time and a scope.
    const answer = { token_type: 'Bearer', expires_in: 3600, ...(scope !== '' && { scope }) };
    const isTimed = typeof expiresAt === 'number' && Number.isFinite(expiresAt);
    // Without an access token there is none that could be given to anybody.
    return { tokens, answer, expiresAt: tokens.access === undefined ? 0 : isTimed ? expiresAt : undefined };
  });
}

/**
 * The file with what a container is given of `signIn` in the place of the tokens in it. `given`: the text of the same file
 * for a container in which nobody has signed in; without one it has placeholders where the tokens were.
 */
export function withoutTokens(
  text: string,
  { tokens }: StoredSignIn,
  signIn: SignIn,
  given?: string,
): string {
  const { comments, json } = parted(text);
  const names = Object.keys(tokens) as TokenName[];
  const placeholders = new Map<unknown, string | undefined>(
    names.map((name) => [tokens[name], given === undefined ? placeholderOf(signIn, name) : undefined]),
  );
  const file = JSON.parse(json, (_, value: unknown) =>
    placeholders.has(value) ? placeholders.get(value) : value,
  ) as Tree;
  return `${comments}${JSON.stringify({ ...file, ...(JSON.parse(given ?? '{}') as Tree) }, undefined, 2)}\n`;
}

/** Copilot's begins with comments. */
function parted(text: string): Record<'comments' | 'json', string> {
  const comments = /^(?:[ \t]*\/\/.*\n)*/.exec(text)![0];
  return { comments, json: text.slice(comments.length) };
}

/** What can stand in a header, and for nothing else. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,16384}$/.test(value) && readPlaceholder(value) === undefined;
}
