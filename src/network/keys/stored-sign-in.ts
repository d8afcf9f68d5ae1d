/** Sign-ins in the files of agents: the tokens that such a file holds, and the file without them. */
import type { AgentSignIn, Tree } from './agent-sign-ins';
import { placeholderOf, type SignIn } from './kept-sign-in';
import { readPlaceholder, type TokenName } from './token-placeholder';
import { unlessFails } from '../../system/unless';

type StoredSignIn = Pick<SignIn, 'tokens' | 'answer' | 'expiresAt'>;

/** The real tokens in an agent's file; `undefined` if none is there, whatever else is. */
export function storedIn({ stored }: Pick<AgentSignIn, 'stored'>, text: string): StoredSignIn | undefined {
  return unlessFails(() => {
    // The function changes nothing. With one, as `withoutTokens` needs it, `JSON.parse` fails for a file that is nested too
    // deeply; without one it would not. So that file fails already here, as one without tokens.
    const file = JSON.parse(parted(text).json, (_, value: unknown) => value) as Tree;
    const { tokens: all, scope: words, expiresAt } = stored.read(file);
    const found = Object.entries(all).map(([name, value]) => [name, [value].flat().find(isToken)] as const);
    const tokens = Object.fromEntries(found.filter(([, token]) => token !== undefined)) as SignIn['tokens'];
    if (tokens.access === undefined && tokens.refresh === undefined) return undefined;
    const scope = [words ?? []].flat().map(String).join(' ');
    // Claude drops tokens that come without a time and a scope.
    const answer = { token_type: 'Bearer', expires_in: 3600, ...(scope !== '' && { scope }) };
    const isTimed = typeof expiresAt === 'number' && Number.isFinite(expiresAt);
    // Without an access token, the first agent that asks has to renew.
    return { tokens, answer, expiresAt: tokens.access === undefined ? 0 : isTimed ? expiresAt : undefined };
  });
}

/**
 * The file without these tokens. `given`: the text of the same file as containers get it (`insideOf`), whose fields replace
 * those of the file; without it, the placeholders of `signIn` take the places of the tokens.
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

/** The file of Copilot begins with comments. */
function parted(text: string): Record<'comments' | 'json', string> {
  const comments = /^(?:[ \t]*\/\/.*\n)*/.exec(text)![0];
  return { comments, json: text.slice(comments.length) };
}

/** Whether it can be a real token: a word that a header has room for, and no placeholder. */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,16384}$/.test(value) && readPlaceholder(value) === undefined;
}
