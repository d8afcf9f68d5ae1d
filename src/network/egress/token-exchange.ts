/**
 * Requests for tokens: the container sends and gets placeholders, and the tokens stay on this machine.
 * Source: RFC 6749 (authorization codes, refresh tokens), RFC 8628 (devices), RFC 8693 (exchange), RFC 7009 (revocation).
 */
import type { TokenEndpoint } from '../keys/agent-sign-ins';
import { newSignInId, placeholderOf, tokenFor, type SignIn, type SignIns } from '../keys/kept-sign-in';
import { readPlaceholder, type TokenName, type TokenPlaceholder } from '../keys/token-placeholder';
import { messageOf } from '../../errors';
import { Refusal } from './policy';
import { objectIn } from '../../system/unless';

export interface TokenMessage {
  readonly type: string | undefined;
  /** Whole. */
  readonly body: string;
}

export interface TokenAnswer extends TokenMessage {
  readonly status: number;
}

/** Sends a request to a path of the server; its type and body are as we have written them. */
type Send = (path: string, request: TokenMessage) => Promise<TokenAnswer>;

/** Answers a request for tokens; `inHeaders`: all placeholders in its headers. Rejects with a `Refusal`. */
export type Exchange = (
  request: TokenMessage & { readonly inHeaders: readonly TokenPlaceholder[] },
  send: Send,
) => Promise<TokenAnswer>;

type Fields = Readonly<Record<string, unknown>>;
type Names = TokenEndpoint['tokens'];

const refreshGrant = 'refresh_token';
/** By this, Codex asks for a key of the account. */
const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** The fields of a renewal or exchange. With any other, a server could take it for a sign-in, whose tokens we would miss. */
const fieldsOfRenewals =
  /^(?:grant_type|refresh_token|client_id|client_secret|scope|expires_in|refresh_reason|subject_token|subject_token_type|requested_token)$/;
/** What one workspace may send when it renews the sign-in of all: the others get the same token, so it asks for no less. */
const fieldsForAll = /^(?:grant_type|refresh_token|client_id|client_secret)$/;

/**
 * How long the current token must last to be given to whoever asks with an older placeholder, in milliseconds: agents renew
 * one that has less than five minutes left.
 */
const freshMs = 6 * 60_000;
/** How long after a renewal nobody gets another, in milliseconds. */
const recentMs = 10_000;
/** Fields that hold tokens by convention: the container never gets those of a server as they are. */
const usualTokens = /^(?:access|refresh|id)_token$/;

/**
 * Answers requests at an endpoint. A request that was sent on is finished, and its tokens are kept, even if nobody waits for
 * the answer any more. `onSignIn` is called when somebody has signed in.
 */
export function exchangeFor(endpoint: TokenEndpoint, signIns: SignIns, onSignIn: () => void): Exchange {
  return async (request, send) => {
    const fields = fieldsOf(request);
    const found = [...request.inHeaders, ...Object.values(fields).map(readPlaceholder)];
    const given = found.filter((each) => each !== undefined);
    const asked = {
      fields,
      send: (all: Fields) => send(endpoint.path, written(request, all)),
    };
    try {
      if (given.length > 0) return await usingSignIn(endpoint, signIns, given, asked);
      // Whoever sends a real token has a sign-in that is not kept here, and renews or ends it as if we were not there.
      const isRenewal =
        [refreshGrant, exchangeGrant].includes(String(fields.grant_type)) &&
        Object.keys(fields).every((field) => fieldsOfRenewals.test(field));
      if (endpoint.ends === true || isRenewal) return await asked.send(fields);
      const { kept, result } = signedIn(endpoint, await asked.send(fields));
      if (kept === undefined) return result;
      await signIns.own.keep(kept);
      onSignIn();
      return result;
    } catch (reason) {
      throw reason instanceof Refusal ? reason : new Refusal(messageOf(reason), 502);
    }
  };
}

/** What is kept when somebody signs in, and the answer for the container. */
function signedIn(
  { tokens: names }: TokenEndpoint,
  got: TokenAnswer,
): { kept?: SignIn; result: TokenAnswer } {
  const found = tokensIn(got, names);
  // A key that was asked for with a real token belongs to a sign-in that is not kept here.
  if (found === undefined || found.tokens.key !== undefined) return { result: got };
  if (found.tokens.access === undefined) throw new Refusal('the answer has no access token', 502);
  const kept: SignIn = { id: newSignInId(), generation: 1, ...found };
  return { kept, result: told(got.status, found.answer, names, kept) };
}

interface Asked {
  readonly fields: Fields;
  readonly send: (fields: Fields) => Promise<TokenAnswer>;
}

/** What somebody wants who sends a placeholder; `undefined`: nothing that an agent asks for. */
type Purpose = 'renewal' | 'key' | 'end' | undefined;

/**
 * A placeholder counts only where agents put it. Anywhere else it could accompany a code or token of another account, for
 * which all workspaces would work from then on.
 */
function purposeOf(endpoint: TokenEndpoint, fields: Fields, given: readonly TokenPlaceholder[]): Purpose {
  if (endpoint.ends === true) return 'end';
  if (Object.values(endpoint.tokens).includes('key')) return 'key';
  const [only, ...others] = given;
  const isIn = (field: string) => readPlaceholder(fields[field])?.name === only?.name && others.length === 0;
  if (fields.grant_type === refreshGrant && only?.name === 'refresh' && isIn('refresh_token'))
    return 'renewal';
  return fields.grant_type === exchangeGrant && isIn('subject_token') ? 'key' : undefined;
}

/** Renews a sign-in, makes a key of it, or ends it, as whoever sends its placeholders asks. */
async function usingSignIn(
  endpoint: TokenEndpoint,
  signIns: SignIns,
  given: readonly TokenPlaceholder[],
  { fields, send }: Asked,
): Promise<TokenAnswer> {
  const where = signIns.keeperOf(given[0]!);
  const purpose = purposeOf(endpoint, fields, given);
  if (where === undefined) return ended;
  if (purpose === undefined) return notUsable;
  // It is the sign-in of all workspaces, which this one only uses.
  const isOthers = where !== signIns.own;
  // No workspace ends what others use; the agent is told that it has.
  if (isOthers && purpose === 'end') return json(200, {});
  // All workspaces would use that key from then on.
  if (isOthers && purpose === 'key') return notForAll;
  const said = isOthers
    ? Object.fromEntries(Object.entries(fields).filter(([field]) => fieldsForAll.test(field)))
    : fields;
  return await where.change(async (signIn) => {
    if (signIn === undefined || given.some((each) => each.signIn !== signIn.id))
      return { kept: signIn, result: ended };
    const isStale = given.some(({ generation }) => generation < signIn.generation);
    if (purpose === 'renewal' && ((isStale && isFresh(signIn)) || isRecent(signIn)))
      return { kept: signIn, result: told(200, signIn.answer, endpoint.tokens, signIn) };
    const got = await send(withTokens(said, signIn));
    if (purpose === 'end') return { kept: isSuccess(got) ? undefined : signIn, result: hidden(got, signIn) };
    const isExchange = purpose === 'key' && 'access_token' in endpoint.tokens;
    return renewed(signIn, isExchange ? { access_token: 'key' } : endpoint.tokens, got);
  });
}

/** What is kept after a server's answer to a request with a token of `signIn`, and the answer for the container. */
function renewed(signIn: SignIn, names: Names, got: TokenAnswer): { kept: SignIn; result: TokenAnswer } {
  const found = tokensIn(got, names);
  if (found === undefined) return { kept: signIn, result: hidden(got, signIn) };
  const all = { ...signIn, tokens: { ...signIn.tokens, ...found.tokens } };
  // A key is kept beside the tokens, which stay as they are.
  if (found.tokens.access === undefined)
    return { kept: all, result: told(got.status, found.answer, names, all) };
  // Servers may leave out a scope that has not changed. Without it, Claude drops the tokens.
  const { scope } = signIn.answer;
  const answer = { ...(scope !== undefined && { scope }), ...found.answer };
  const generation = signIn.generation + 1;
  const kept: SignIn = { ...all, generation, answer, expiresAt: found.expiresAt, renewedAt: Date.now() };
  return { kept, result: told(got.status, answer, names, kept) };
}

/** The tokens of an answer, and the rest of it; `undefined`: it has no tokens. Fails with a `Refusal` for what is no JSON. */
function tokensIn(
  got: TokenAnswer,
  names: Names,
): Pick<SignIn, 'tokens' | 'answer' | 'expiresAt'> | undefined {
  if (!isSuccess(got)) return undefined;
  const fields = objectIn(got.body);
  // It could hold tokens that we do not find.
  if (fields === undefined)
    throw new Refusal('the answer is no JSON object, so that tokens in it could not be kept outside', 502);
  const found = Object.entries(names).filter(
    ([field]) => typeof fields[field] === 'string' && fields[field] !== '',
  );
  if (found.length === 0) return undefined;
  const tokens = Object.fromEntries(found.map(([field, name]) => [name, fields[field] as string]));
  const answer = Object.fromEntries(
    Object.entries(fields).filter(([field]) => !Object.hasOwn(names, field) && !usualTokens.test(field)),
  );
  const seconds = Number(answer.expires_in);
  return { tokens, answer, expiresAt: seconds > 0 ? Date.now() + seconds * 1000 : undefined };
}

/** An answer for the container, with placeholders for the tokens that the endpoint names. */
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

/** Replaces tokens anywhere in an answer: a server may repeat them in other fields, as in a URL, or with `\/`. */
function hidden(got: TokenAnswer, signIn: SignIn): TokenAnswer {
  const names = Object.keys(signIn.tokens) as TokenName[];
  const shown = names.flatMap((name) => {
    const token = signIn.tokens[name]!;
    return [token, encodeURIComponent(token), token.replaceAll('/', '\\/')].map(
      (each) => [each, placeholderOf(signIn, name)!] as const,
    );
  });
  const body = shown.reduce((text, [token, placeholder]) => text.replaceAll(token, placeholder), got.body);
  return { ...got, body };
}

/** The fields with the tokens that placeholders stand for. */
function withTokens(fields: Fields, signIn: SignIn): Fields {
  const real = Object.entries(fields).map(
    ([name, value]) =>
      [name, typeof value === 'string' ? (tokenFor(signIn, value) ?? value) : value] as const,
  );
  return Object.fromEntries(real);
}

/** The fields as a request of the same type, written again so that no server reads it in another way than we have. */
function written(request: TokenMessage, fields: Fields): TokenMessage {
  if (request.body === '') return { type: undefined, body: '' };
  if (isJson(request)) return { type: 'application/json', body: JSON.stringify(fields) };
  const pairs = Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]);
  return { type: 'application/x-www-form-urlencoded', body: String(new URLSearchParams(pairs)) };
}

function fieldsOf(request: TokenMessage): Fields {
  if (isJson(request)) return objectIn(request.body) ?? {};
  return Object.fromEntries(new URLSearchParams(request.body));
}

const isJson = ({ type = '' }: TokenMessage): boolean => /\bjson\b/i.test(type);
const isSuccess = ({ status }: TokenAnswer): boolean => status >= 200 && status < 300;
/** A workspace that renews over and over must not keep the others waiting. */
const isRecent = ({ renewedAt = 0, expiresAt = Infinity }: SignIn): boolean =>
  Math.abs(Date.now() - renewedAt) < recentMs && expiresAt > Date.now();
const isFresh = ({ expiresAt = Infinity }: SignIn): boolean => expiresAt - Date.now() > freshMs;

function json(status: number, fields: Fields): TokenAnswer {
  return { status, type: 'application/json', body: JSON.stringify(fields) };
}

const ended = json(400, {
  error: 'invalid_grant',
  error_description: 'this sign-in has been ended or replaced on this machine: sign in again',
});

const notUsable = json(400, {
  error: 'invalid_request',
  error_description: 'a token of this sign-in cannot be used in this request',
});

const notForAll = json(403, {
  error: 'access_denied',
  error_description:
    'this sign-in is for all workspaces, and makes no key for one: run "cai login" on your machine',
});
