/** SSH servers of this machine that containers reach by names, and a user whose agent has a key for them. */
import { execFileSync } from 'node:child_process';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { giveTo, newKey, startAgent, startServer, type KeyPair } from '../support/ssh-world';
import { Place } from './place';
import { newRepository } from './repository';
import { Cai, folder, ownFile, ownFolder, user } from './support';

/** How a place differs from the usual. */
interface Wishes {
  /** Names of hosts for `git.ssh_agent`, without the port. */
  readonly allowed: readonly string[];
  /** Whether git signs. */
  readonly isSigning?: boolean;
}

/** The names of two servers in containers; the user knows both. */
export const names = ['git.example', 'other.example'] as const;

/** Whom the server lets in. */
export const login = userInfo().username;

/** What a test has of it. */
export interface SshPlace {
  readonly cai: Cai;
  readonly place: Place;
  /** Of the first server. */
  readonly port: number;
  /** Of the second one, which has another key. */
  readonly otherPort: number;
  readonly userKey: KeyPair;
  /** An empty bare repository, which the server has. */
  readonly remote: string;
  /** Where the user's agent listens. */
  readonly agent: string;
}

let count = 0;

/** A repository of the user in a container, beside a server that lets the key in. */
export async function sshPlace({ allowed, isSigning = false }: Wishes): Promise<SshPlace> {
  const keys = join(folder, `keys-${++count}`);
  ownFolder(keys);
  const [hostKey, otherKey, userKey] = [newKey(keys, 'host'), newKey(keys, 'other'), newKey(keys, 'user')];
  const port = await startServer(keys, hostKey, [userKey]);
  const otherPort = await startServer(keys, otherKey, [userKey]);
  const cai = new Cai();
  const hosts = allowed.map((name) => `${name}:${port}`);
  const rules = [`${names[0]}:${port}`, `${names[1]}:${otherPort}`];
  cai.configure(
    `allow = ${JSON.stringify([...rules, '127.0.0.1:*'])}\n[container]\nextra_hosts = ${JSON.stringify(names.map((name) => `${name}:127.0.0.1`))}\n[git]\nssh_agent = ${JSON.stringify(hosts)}\nsign = ${isSigning}\n`,
  );
  const known = `[${names[0]}]:${port} ${hostKey.line}\n[${names[1]}]:${otherPort} ${otherKey.line}\n`;
  ownFile(join(cai.home, '.ssh/known_hosts'), known);
  ownFile(join(cai.home, 'sign.pub'), `${userKey.line}\n`);
  ownFile(
    join(cai.home, '.gitconfig'),
    '[user]\nname = Ada\nemail = ada@example.com\nsigningkey = ~/sign.pub\n[gpg]\nformat = ssh\n',
  );
  giveTo(user, userKey.file);
  // An agent answers its own user alone, and nobody but root can be another one.
  const agent = await startAgent(keys, [userKey], userInfo().uid === 0 ? user : undefined);
  cai.env.SSH_AUTH_SOCK = agent;
  const repository = newRepository(cai, `repository-${count}`);
  const remote = join(folder, `remote-${count}.git`);
  execFileSync('git', ['init', '--quiet', '--bare', remote]);
  const place = await new Place(cai, repository).opened();
  return { cai, place, port, otherPort, userKey, remote, agent };
}
