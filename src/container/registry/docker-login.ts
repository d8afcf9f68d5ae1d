/** What `docker login` has kept. Source: docker/cli, "Credential stores"; docker/docker-credential-helpers. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CaiError, messageOf } from '../../errors';
import type { Host } from '../../system/host';
import { loginKey } from './reference';
import { outputOf, type OutputFailure } from '../../system/program-output';
import { isMissing, objectIn, unlessFails } from '../../system/unless';
import { withoutEnd } from '../../system/paths/without-end';

/** Who a registry knows the user as. */
export type Login =
  | { readonly username: string; readonly password: string }
  | { readonly identityToken: string };

/** Of `config.json`, as far as it is used; it may hold anything else. */
interface DockerConfig {
  readonly auths?: Readonly<Record<string, StoredLogin | null>>;
  readonly credsStore?: string;
  readonly credHelpers?: Readonly<Record<string, string>>;
}

interface StoredLogin {
  /** `USER:PASSWORD` in base64. */
  readonly auth?: string;
  readonly identitytoken?: string;
}

/**
 * The login for a registry; `undefined`: the user has no login. Rejects with `CaiError('IMAGE')`, in which no part of it
 * stands.
 */
export async function dockerLogin(
  host: Pick<Host, 'env' | 'envForOthers' | 'home'>,
  registry: string,
): Promise<Login | undefined> {
  const file = join(dockerFolder(host), 'config.json');
  const { auths = {}, credsStore, credHelpers = {} } = readConfig(file);
  const key = loginKey(registry);
  const helper = credHelpers[key] ?? credHelpers[registry] ?? credsStore;
  const asked =
    helper === undefined || helper === '' ? undefined : await askHelper(helper, key, host.envForOthers);
  return asked ?? loginIn(auths, key, file);
}

/** Where Docker's own programs have their configuration. */
export function dockerFolder({ env, home }: Pick<Host, 'env' | 'home'>): string {
  const { DOCKER_CONFIG: folder = '' } = env;
  return folder === '' ? join(home, '.docker') : folder;
}

function readConfig(file: string): DockerConfig {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (reason) {
    if (isMissing(reason)) return {};
    throw unusable(`${file} cannot be read: ${messageOf(reason)}`);
  }
  const config = unlessFails<unknown>(() => JSON.parse(text));
  // What JSON's own message quotes may be a secret.
  if (typeof config !== 'object' || config === null) throw unusable(`${file} is no JSON: mend it`);
  return config;
}

/** Entries are named by a host, or as earlier versions did by a URL of it. */
function loginIn(auths: DockerConfig['auths'] & object, key: string, file: string): Login | undefined {
  const old = Object.keys(auths).find((each) => each.replace(/^https?:\/\/([^/]*).*/s, '$1') === key);
  const { auth, identitytoken } = auths[key] ?? (old === undefined ? undefined : auths[old]) ?? {};
  if (identitytoken !== undefined && identitytoken !== '') return { identityToken: identitytoken };
  // A credential store leaves empty entries behind.
  if (auth === undefined || auth === '') return undefined;
  const pair = Buffer.from(auth, 'base64').toString();
  const colon = pair.indexOf(':');
  if (colon < 1) throw unusable(`the login for ${key} in ${file} is damaged: run: docker login ${key}`);
  return { username: pair.slice(0, colon), password: withoutEnd(pair.slice(colon + 1), '\0') };
}

async function askHelper(helper: string, key: string, env: NodeJS.ProcessEnv): Promise<Login | undefined> {
  const program = `docker-credential-${helper}`;
  const failure = (why: string) =>
    unusable(`${program}, which keeps logins of Docker, gave none for ${key}: ${why}`);
  if (!/^[\w.-]+$/.test(helper)) throw failure('it has the name of no program');
  const printed = await outputOf(program, ['get'], { env, input: key }).catch((reason: unknown) => {
    const { stdout, message } = reason as OutputFailure;
    // So it says that it has no login. All else that it says is kept out of messages.
    if (/credentials not found/i.test(stdout)) return undefined;
    throw failure(message);
  });
  if (printed === undefined) return undefined;
  const said = objectIn(printed) ?? {};
  const { Username: username, Secret: secret } = said;
  if (typeof username !== 'string' || typeof secret !== 'string') throw failure('what it prints is no login');
  if (secret === '') return undefined;
  return username === '<token>' ? { identityToken: secret } : { username, password: secret };
}

function unusable(message: string): CaiError {
  return new CaiError('IMAGE', message);
}
