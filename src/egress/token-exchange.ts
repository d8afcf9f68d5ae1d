/**
 * Requests for tokens: the container sends and gets placeholders, and the tokens stay here.
 * Source: RFC 6749 (authorization codes, refresh tokens), RFC 8628 (devices), RFC 8693 (exchange), RFC 7009 (revocation).
 */
import type { TokenEndpoint } from '../credentials/agent-sign-ins';
import { newSignInId, placeholderOf, tokenFor, type SignIn, type SignIns } from '../credentials/kept-sign-in';
import { readPlaceholder, type TokenName, type TokenPlaceholder } from '../credentials/token-placeholder';
import { messageOf } from '../errors';
import { Refusal } from './policy';

/** What is sent, or answered. */
export interface TokenMessage {
  /** The media type. */
  readonly type: string | undefined;
  /** Whole. */
  readonly body: string;
}

/** By a server, or by us. */
export interface TokenAnswer extends TokenMessage {
  /** Of HTTP. */
  readonly status: number;
}

/** Answers a request for tokens; `bearer`: the placeholder in its headers. Rejects with a `Refusal`. */
export type Exchange = (
  request: TokenMessage & { readonly bearer: TokenPlaceholder | undefined },
  send: (body: string) => Promise<TokenAnswer>,
) => Promise<TokenAnswer>;

type Fields = Readonly<Record<string, unknown>>;
type Names = TokenEndpoint['tokens'];

const refreshGrant = 'refresh_token';
/** Codex asks so for a key of the account. */
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';

/**
 * How long the current token must last to be given to whoever asks with an older placeholder, in milliseconds: agents renew
 * one that has less than five minutes left.
 */
const freshMs = 6 * 60_000;

/**
 * Gives out tokens at an endpoint. What has begun is ended, and its tokens are kept, also if nobody waits for the answer
 * any more. `onSignIn`: somebody has signed in.
 */
export function exchangeAt(endpoint: TokenEndpoint, signIns: SignIns, onSignIn: () => void): Exchange {
  return async (request, send) => {
    const fields = fieldsOf(request);
    const found = [request.bearer, ...Object.values(fields).map(readPlaceholder)];
    const given = found.filter((each) => each !== undefined);
    try {
      if (given.length > 0) return await renewal(endpoint, signIns, given, { request, fields, send });
      // Whoever has a real token has it from a sign-in that is not kept here, and renews it as if we were not there.
      const isSignIn = ![refreshGrant, exchangeGrant].includes(String(fields.grant_type));
      if (endpoint.ends === true || !isSignIn) return await send(request.body);
      const { kept, result } = signedIn(endpoint, await send(request.body));
      if (kept === undefined) return result;
      await signIns.own.keep(kept);
      onSignIn();
      return result;
    } catch (reason) {
      throw reason instanceof Refusal ? reason : new Refusal(messageOf(reason), 502);
    }
  };
}

/** What is kept of a sign-in, and how it is told inside. */
function signedIn(
  { tokens: names }: TokenEndpoint,
  got: TokenAnswer,
): { kept?: SignIn; result: TokenAnswer } {
  const found = tokensIn(got, names);
  if (found?.tokens.access === undefined) return { result: got };
  const kept: SignIn = { id: newSignInId(), generation: 1, ...found };
  return { kept, result: told(got.status, found.answer, names, kept) };
}

/** What was asked, with placeholders in it. */
interface Asked {
  readonly request: TokenMessage;
  readonly fields: Fields;
  readonly send: (body: string) => Promise<TokenAnswer>;
}

async function renewal(
  endpoint: TokenEndpoint,
  signIns: SignIns,
  given: readonly TokenPlaceholder[],
  { request, fields, send }: Asked,
): Promise<TokenAnswer> {
  const where = signIns.keeperOf(given[0]!);
  if (where === undefined) return ended;
  // One workspace does not end what others use, too.
  if (endpoint.ends === true && where !== signIns.own) return json(200, {});
  return await where.change(async (signIn) => {
    if (signIn === undefined || given.some((each) => each.signIn !== signIn.id))
      return { kept: signIn, result: ended };
    const isStale = given.some(({ generation }) => generation < signIn.generation);
    if (fields.grant_type === refreshGrant && isStale && isFresh(signIn))
      return { kept: signIn, result: told(200, signIn.answer, endpoint.tokens, signIn) };
    const got = await send(withTokens(request, fields, signIn));
    if (endpoint.ends === true)
      return { kept: isSuccess(got) ? undefined : signIn, result: hidden(got, signIn) };
    return renewed(
      signIn,
      fields.grant_type === exchangeGrant ? { access_token: 'key' } : endpoint.tokens,
      got,
    );
  });
}

/** What is kept after an answer to a request with a token of `signIn`, and how it is told inside. */
function renewed(signIn: SignIn, names: Names, got: TokenAnswer): { kept: SignIn; result: TokenAnswer } {
  const found = tokensIn(got, names);
  if (found === undefined) return { kept: signIn, result: hidden(got, signIn) };
  const all = { ...signIn, tokens: { ...signIn.tokens, ...found.tokens } };
  const { answer, expiresAt } = found;
  // A key is no new pair of tokens.
  const kept: SignIn =
    found.tokens.access === undefined
      ? all
      : { ...all, generation: signIn.generation + 1, answer, expiresAt };
  return { kept, result: told(got.status, answer, names, kept) };
}

/** The tokens of an answer, and the rest of it; `undefined`: it has none. Fails with a `Refusal` if that cannot be told. */
function tokensIn(
  got: TokenAnswer,
  names: Names,
): Pick<SignIn, 'tokens' | 'answer' | 'expiresAt'> | undefined {
  if (!isSuccess(got)) return undefined;
  const fields = objectIn(got.body);
  const found = Object.entries(names).filter(
    ([field]) => typeof fields[field] === 'string' && fields[field] !== '',
  );
  if (found.length === 0) return undefined;
  const tokens = Object.fromEntries(found.map(([field, name]) => [name, fields[field] as string]));
  const answer = Object.fromEntries(Object.entries(fields).filter(([field]) => !Object.hasOwn(names, field)));
  const seconds = Number(answer.expires_in);
  return { tokens, answer, expiresAt: seconds > 0 ? Date.now() + seconds * 1000 : undefined };
}

/** An answer for the container, with all tokens that are kept, as placeholders. */
function told(status: number, answer: Fields, names: Names, signIn: SignIn): TokenAnswer {
  return hidden(json(status, withPlaceholders(answer, names, signIn)), signIn);
}

function withPlaceholders(answer: Fields, names: Names, signIn: SignIn): Fields {
  const { expiresAt } = signIn;
  const left = expiresAt === undefined ? undefined : Math.max(Math.round((expiresAt - Date.now()) / 1000), 0);
  const placeholders = Object.entries(names).flatMap(([field, name]) => {
    const placeholder = placeholderOf(signIn, name);
    return placeholder === undefined ? [] : [[field, placeholder] as const];
  });
  const isTimed = left !== undefined && 'expires_in' in answer;
  return { ...answer, ...(isTimed && { expires_in: left }), ...Object.fromEntries(placeholders) };
}

/** Servers may show what they got, and what they give in more than one place, also as in a URL. */
function hidden(got: TokenAnswer, signIn: SignIn): TokenAnswer {
  const names = Object.keys(signIn.tokens) as TokenName[];
  const shown = names.flatMap((name) => {
    const token = signIn.tokens[name]!;
    return [token, encodeURIComponent(token)].map((each) => [each, placeholderOf(signIn, name)!] as const);
  });
  const body = shown.reduce((text, [token, placeholder]) => text.replaceAll(token, placeholder), got.body);
  return { ...got, body };
}

/** The body of a request with the tokens that its placeholders stand for. */
function withTokens(request: TokenMessage, fields: Fields, signIn: SignIn): string {
  const real = Object.entries(fields).map(
    ([name, value]) =>
      [name, typeof value === 'string' ? (tokenFor(signIn, value) ?? value) : value] as const,
  );
  if (isJson(request)) return JSON.stringify(Object.fromEntries(real));
  return String(new URLSearchParams(real.map(([name, value]): [string, string] => [name, String(value)])));
}

function fieldsOf(request: TokenMessage): Fields {
  if (!isJson(request)) return Object.fromEntries(new URLSearchParams(request.body));
  try {
    return objectIn(request.body);
  } catch {
    return {};
  }
}

/** Fails with a `Refusal` for what is no object in JSON: what is in it cannot be told. */
function objectIn(text: string): Fields {
  try {
    const value = JSON.parse(text) as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  } catch {
    // As for any other text.
  }
  throw new Refusal('the answer is no JSON object, so that tokens in it could not be kept outside', 502);
}

const isJson = ({ type = '' }: TokenMessage): boolean => /\bjson\b/i.test(type);
const isSuccess = ({ status }: TokenAnswer): boolean => status >= 200 && status < 300;
const isFresh = ({ expiresAt = Infinity }: SignIn): boolean => expiresAt - Date.now() > freshMs;

function json(status: number, fields: Fields): TokenAnswer {
  return { status, type: 'application/json', body: JSON.stringify(fields) };
}

const ended = json(400, {
  error: 'invalid_grant',
  error_description: 'this sign-in has been ended or replaced on this machine: sign in again',
});
