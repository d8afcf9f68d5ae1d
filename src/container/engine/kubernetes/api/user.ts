/** Who we are to a cluster. Source: Kubernetes, "kubeconfig (v1)", `AuthInfo`. */
import { ExecPlugin, type Credentials } from './exec-plugin';
import { noCluster, readNamed, type Entry } from './kubeconfig-file';

/**
 * Gives what counts now: files are read again, as tokens and certificates are replaced. `refused` are some that the
 * server has just refused: a program that gave them is run again. Rejects with `CaiError('NO_ENGINE')`, which holds no
 * part of a secret.
 */
export type TakeCredentials = (refused?: Credentials) => Promise<Credentials>;

/** Ways that are not spoken here, with what to do. To leave out one of them would be to act as somebody else. */
const refused: Readonly<Record<string, string>> = {
  'auth-provider':
    'its "auth-provider" is of a kind that kubectl itself has dropped: have your cloud\'s tool write an exec plugin into the kubeconfig',
  username: 'Kubernetes has no passwords any more: use a token or a client certificate',
  as: 'cai does not impersonate: choose a context that needs no "as"',
  'as-uid': 'cai does not impersonate: choose a context that needs no "as-uid"',
  'as-groups': 'cai does not impersonate: choose a context that needs no "as-groups"',
  'as-user-extra': 'cai does not impersonate: choose a context that needs no "as-user-extra"',
};

/** Programs get `env`; `cluster` is what they may be told about it. Throws `NO_ENGINE` for a way that is not spoken here. */
export function credentialsOf(
  user: Entry,
  env: NodeJS.ProcessEnv,
  cluster: Readonly<Record<string, unknown>>,
): TakeCredentials {
  for (const [key, why] of Object.entries(refused))
    if (user.value(key) !== undefined && user.value(key) !== null) throw user.refusal(why);
  const exec = user.inner('exec');
  const plugin = exec && new ExecPlugin(exec, env, cluster);
  const token = user.text('token');
  const tokenFile = user.path('tokenFile');
  const [cert, key] = [user.data('client-certificate'), user.data('client-key')];
  if ((cert === undefined) !== (key === undefined))
    throw user.refusal('of "client-certificate" and "client-key" it has only one: add the other');
  return async (refusedOnes) => {
    const given = await plugin?.credentials(refusedOnes);
    const counting = tokenFile === undefined ? token : tokenIn(tokenFile, user.title);
    return {
      ...given,
      ...(counting !== undefined && { token: counting }),
      ...(cert && { cert: cert() }),
      ...(key && { key: key() }),
    };
  };
}

/** The token in a file that `title` names. Throws `NO_ENGINE`. */
function tokenIn(file: string, title: string): string {
  const token = readNamed(file, title).toString().trim();
  // Of a header nothing else may be made of it.
  if (/^[!-~]+$/.test(token)) return token;
  throw noCluster(`${file}, which ${title} names, holds no token, or more than one: write it again`);
}
