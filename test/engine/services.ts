/** Services of this machine that programs in a container are to reach by the proxy. All that they serve has `content`. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { Server as SshServer, type ServerChannel } from 'ssh2';
import { newHostKey } from '../../src/container/ssh/keys';
import { authorityOf, identityFor } from '../../src/network/keys/authority';
import { newFolder } from '../support/temp-folder';
import { unlessGone } from '../../src/system/unless';

/** Name of their host. */
export const host = 'allowed.example';
/** Also a name of a package, of a branch. */
export const content = 'made-up';
/** Name of a wheel, for pip. */
export const wheel = 'made_up-1.0.0-py3-none-any.whl';

const version = {
  name: content,
  version: '1.0.0',
  description: content,
  dist: { tarball: 'x', shasum: 'x' },
};
const debianPackage = `Package: ${content}\nVersion: 1\nArchitecture: all\nFilename: x\nSize: 1\n`;

/** A web server by HTTP and HTTPS, and an SSH server with git, on the loopback address. */
export class Services {
  /** PEM of the authority that vouches for them. */
  authority = '';
  /** What else the web server has, by path. */
  readonly files = new Map<string, Buffer | string>([
    ['/content', content],
    [`/registry/${content}`, JSON.stringify({ name: content, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } })], // prettier-ignore
    ['/debian/./Packages', debianPackage],
    [`/pypi/${content}/`, `<a href="/${wheel}">${wheel}</a>`],
  ]);
  readonly #repository = newRepository();
  readonly #servers = new Map<number, Server>();

  /** Begins to listen. */
  async open(): Promise<void> {
    const authority = await authorityOf(newFolder());
    this.authority = authority.cert;
    this.#servers.set(80, createHttpServer(this.#answer));
    this.#servers.set(443, createHttpsServer(await identityFor(host, authority), this.#answer));
    this.#servers.set(22, this.#sshServer());
    for (const server of this.#servers.values())
      await once(server.listen(0, '127.0.0.1').unref(), 'listening');
  }

  /** Where the one listens that usually has that port. */
  portFor(usual: number): number {
    return (this.#servers.get(usual)!.address() as AddressInfo).port;
  }

  /** Ends them, but for what is under way. */
  close(): void {
    for (const server of this.#servers.values()) server.close();
  }

  readonly #answer: RequestListener = ({ url = '' }, answer) => {
    const path = url.replace(/\?.*/, '');
    const [, inRepository] = /^\/repository\.git\/([\w/-]+)$/.exec(path) ?? [];
    const found =
      inRepository === undefined
        ? this.files.get(path)
        : unlessGone(() => readFileSync(join(this.#repository, inRepository)));
    // For pip.
    if (path.endsWith('/')) answer.setHeader('Content-Type', 'text/html');
    answer.writeHead(found === undefined ? 404 : 200).end(found);
  };

  #sshServer(): Server {
    const server = new SshServer({ hostKeys: [newHostKey().privateKey] }, (client) => {
      client.on('error', () => undefined);
      client.on('authentication', (attempt) => attempt.accept());
      client.on('session', (accept) => {
        accept().on('exec', (acceptCommand) => this.#serveGit(acceptCommand()));
      });
    });
    return server;
  }

  #serveGit(channel: ServerChannel): void {
    const git = spawn('git', ['upload-pack', this.#repository], { stdio: ['pipe', 'pipe', 'inherit'] });
    channel.pipe(git.stdin);
    git.stdout.pipe(channel, { end: false });
    git.on('close', (status) => {
      channel.exit(status ?? 1);
      channel.end();
    });
  }
}

/** A bare one with a branch, also for whoever gets it file by file. */
function newRepository(): string {
  const path = newFolder();
  const who = ['-c', 'user.name=a', '-c', 'user.email=a@b'];
  const git = (...args: string[]): string =>
    execFileSync('git', [...who, '-C', path, ...args], { encoding: 'utf8', input: '' }).trim();
  git('init', '--quiet', '--bare');
  const commit = git('commit-tree', '-m', 'first', git('mktree'));
  git('update-ref', `refs/heads/${content}`, commit);
  git('update-server-info');
  return path;
}
