/** What a container has instead of the tokens of a sign-in, which stay on this machine. */

/** The two tokens of OAuth, OpenID's token about the user, and a key that was made for the account. */
export type TokenName = 'access' | 'refresh' | 'id' | 'key';

export interface TokenPlaceholder {
  readonly name: TokenName;
  readonly signIn: string;
  /** `SignIn.generation` when it was given out; 0: it was put into a container that had not asked for it. */
  readonly generation: number;
}

const form = /caiplaceholder(access|refresh|id|key)x([0-9a-f]{12})x(\d{1,6})$/;

/** The beginning by which programs tell the kind of a key or token. */
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

/** A text of the form of `token` (whole, or as `keptOf` cuts it), which is of use to nobody but `cai`. */
export function placeholderFor(token: string, { name, signIn, generation }: TokenPlaceholder): string {
  return `${keptOf(token)}caiplaceholder${name}x${signIn}x${generation}`;
}

/** What a placeholder says; `undefined`: the text is no placeholder. */
export function readPlaceholder(text: unknown): TokenPlaceholder | undefined {
  const [, name, signIn, digits] = form.exec(typeof text === 'string' ? text : '') ?? [];
  if (name === undefined || signIn === undefined) return undefined;
  return { name: name as TokenName, signIn, generation: Number(digits) };
}

/** By which Gemini CLI's defaults, in `src/agent/catalog.ts`, say how it signs in; absent: the user has to choose. */
export const geminiVariable = 'CAI_GEMINI_SIGN_IN';
