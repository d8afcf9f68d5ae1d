/** How a registry is shown who asks. Source: RFC 9110, 11; Docker, "Token Authentication Specification". */
import type { Login } from './docker-login';
import type { Answer, Request } from '../../network';
import { objectIn } from '../../system/unless';

type Ask = (url: URL, request: Request) => Promise<Answer>;

/** As Docker, whose tokens are asked for in the same way; servers refuse nobody for it. */
const clientId = 'containai';

/**
 * The header `Authorization` for a request that was answered with this challenge (`WWW-Authenticate`), which gives the
 * right to pull from the repository; `undefined`: no token is given, or only for a login that is missing. Rejects as
 * `ask` does.
 */
export async function authorizationFor(
  challenge: string,
  repository: string,
  login: Login | undefined,
  ask: Ask,
): Promise<string | undefined> {
  const [, words] = /(?:^|,)\s*Bearer\s+(.*)/is.exec(challenge) ?? [];
  if (words !== undefined) {
    const token = await tokenFor(words, repository, login, ask);
    return token === undefined ? undefined : `Bearer ${token}`;
  }
  return /(?:^|,)\s*Basic\b/i.test(challenge) ? basic(login) : undefined;
}

async function tokenFor(
  words: string,
  repository: string,
  login: Login | undefined,
  ask: Ask,
): Promise<string | undefined> {
  const { realm = '', service, scope = `repository:${repository}:pull` } = parametersIn(words);
  if (!URL.canParse(realm)) return undefined;
  const url = new URL(realm);
  const about = { ...(service !== undefined && { service }), scope };
  const answer =
    login !== undefined && 'identityToken' in login
      ? await ask(url, refresh(login.identityToken, about))
      : await ask(withQuery(url, about), { headers: headersOf(basic(login)) });
  if (answer.status !== 200) return undefined;
  const said = objectIn(answer.body.toString());
  const token = said?.token ?? said?.access_token;
  return typeof token === 'string' && /^[!-~]+$/.test(token) ? token : undefined;
}

function refresh(token: string, about: Readonly<Record<string, string>>): Request {
  const fields = { ...about, grant_type: 'refresh_token', client_id: clientId, refresh_token: token };
  return {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  };
}

function withQuery(url: URL, query: Readonly<Record<string, string>>): URL {
  const whole = new URL(url);
  for (const [name, value] of Object.entries(query)) whole.searchParams.set(name, value);
  return whole;
}

function headersOf(authorization: string | undefined): Record<string, string> {
  return authorization === undefined ? {} : { authorization };
}

function basic(login: Login | undefined): string | undefined {
  if (login === undefined || 'identityToken' in login) return undefined;
  return `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
}

/** Of a name that comes again, which then belongs to another challenge, the first counts. */
function parametersIn(words: string): Readonly<Partial<Record<'realm' | 'service' | 'scope', string>>> {
  const pairs = [...words.matchAll(/\b([a-z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/gi)];
  return Object.fromEntries(
    pairs
      .reverse()
      .map(([, name = '', quoted, plain = '']) => [
        name.toLowerCase(),
        quoted?.replace(/\\(.)/g, '$1') ?? plain,
      ]),
  );
}
