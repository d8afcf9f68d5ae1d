/** What a container has instead of the tokens of a sign-in, which stay on this machine. */

/** Whose place it takes: the two tokens of OAuth, OpenID's about the user, and a key that was made for the account. */
export type TokenName = 'access' | 'refresh' | 'id' | 'key';

/** What a placeholder says. */
export interface TokenPlaceholder {
  /** The token that it stands for. */
  readonly name: TokenName;
  /** Id of the sign-in. */
  readonly signIn: string;
  /** `SignIn.generation` when it was given out; 0: with the sign-in of somebody else. */
  readonly generation: number;
}

const form = /caiplaceholder(access|refresh|id|key)x([0-9a-f]{12})x(\d{1,6})$/;

/** Programs tell by it of which kind a key or token is. */
const prefix = /^(?:sk-[a-z]+-(?:[a-z]+\d\d-)?|ya29\.|1\/\/|[a-z]{2,3}_)?/;

/**
 * What a placeholder keeps of a token, at its beginning: what tells its kind; of a JSON Web Token all but the signature,
 * because programs read there who has signed in, and until when.
 */
export function keptOf(token: string): string {
  const [head = '', claims, ...signature] = token.split('.');
  const isWebToken = head.startsWith('eyJ') && signature.length === 1;
  return isWebToken ? `${head}.${claims}.` : prefix.exec(token)![0];
}

/** A text of the form of `token`, or of what is kept of it; of no use to anybody else. What it says can be read in it. */
export function placeholderFor(token: string, { name, signIn, generation }: TokenPlaceholder): string {
  return `${keptOf(token)}caiplaceholder${name}x${signIn}x${generation}`;
}

/** What a text says that is a placeholder. */
export function readPlaceholder(text: unknown): TokenPlaceholder | undefined {
  const [, name, signIn, digits] = form.exec(typeof text === 'string' ? text : '') ?? [];
  if (name === undefined || signIn === undefined) return undefined;
  return { name: name as TokenName, signIn, generation: Number(digits) };
}

/** By which Gemini CLI's defaults, in `src/agent/catalog.ts`, say how it signs in; absent: the user has to choose. */
export const geminiVariable = 'CAI_GEMINI_SIGN_IN';
