/** A registry on this machine, and the server of its tokens, as the specifications have them. */
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listening } from '../../support/listening';

/** Starts a server of HTTP that ends with the test. Resolves with its place: `127.0.0.1:PORT`. */
export async function serving(answer: (from: IncomingMessage, to: ServerResponse) => void): Promise<string> {
  return `127.0.0.1:${await listening(createServer(answer))}`;
}

/** Who is let in. */
export type Door = 'open' | 'basic' | 'token';

/** The only user that it knows. */
export const me = { username: 'me', password: 's3cret:word' };
/** The only identity token that it knows. */
export const identityToken = 'identity-s3cret';
/** The headers that belong to the user and to nobody. */
export const basicOfMe = `Basic ${Buffer.from('me:s3cret:word').toString('base64')}`;

/** The digest of a text. */
export function digestOf(content: string): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

/** What it has, by `manifests/VERSION` and `blobs/DIGEST` of `team/cai`. */
export class PlayedRegistry {
  readonly content = new Map<string, string>();
  /** What it was asked: `METHOD path authorization`. */
  readonly asked: string[] = [];
  /** Host and port. */
  place = '';
  /** Where blobs are; none: here. */
  blobsAt: string | undefined;

  private constructor(private readonly door: Door) {}

  static async start(door: Door = 'open'): Promise<PlayedRegistry> {
    const registry = new PlayedRegistry(door);
    registry.place = await serving((from, to) => void registry.#answer(from, to));
    return registry;
  }

  /** Adds something that is named by its digest, and perhaps by a tag. Returns the digest. */
  add(kind: 'manifests' | 'blobs', value: object, tag?: string): string {
    const content = JSON.stringify(value);
    for (const version of [digestOf(content), tag ?? []].flat())
      this.content.set(`${kind}/${version}`, content);
    return digestOf(content);
  }

  /** Adds an image with a variable that tells it from others. Returns the digest of its manifest. */
  addImage(variable: string, tag?: string): string {
    const config = { Env: [variable], Labels: { 'containai.recipe': variable } };
    const digest = this.add('blobs', { architecture: 'any', os: 'linux', config });
    return this.add('manifests', { schemaVersion: 2, config: { digest }, layers: [] }, tag);
  }

  async #answer(from: IncomingMessage, to: ServerResponse): Promise<void> {
    const url = new URL(from.url ?? '', `http://${this.place}`);
    const { authorization = '' } = from.headers;
    this.asked.push(`${from.method} ${url.pathname}${url.search} ${authorization}`.trim());
    const body = await text(from);
    if (url.pathname === '/token') {
      const isMe = authorization === basicOfMe || body.includes(`refresh_token=${identityToken}`);
      to.writeHead(isMe ? 200 : 401).end(JSON.stringify(isMe ? { token: 'good-token' } : {}));
      return;
    }
    const isIn = {
      open: true,
      basic: authorization === basicOfMe,
      token: authorization === 'Bearer good-token',
    };
    if (!isIn[this.door]) {
      const realm = `realm="http://${this.place}/token",service="a service",scope="repository:team/cai:pull"`;
      const challenge = this.door === 'basic' ? 'Basic realm="here"' : `Bearer ${realm}`;
      const errors = [{ code: 'UNAUTHORIZED', message: 'authentication\nrequired' }];
      to.writeHead(401, { 'www-authenticate': challenge }).end(JSON.stringify({ errors }));
      return;
    }
    const [, name = ''] = /^\/v2\/team\/cai\/(.*)$/.exec(url.pathname) ?? [];
    if (this.blobsAt !== undefined && name.startsWith('blobs/')) {
      to.writeHead(307, { location: `http://${this.blobsAt}/${name}` }).end();
      return;
    }
    const content = this.content.get(name);
    to.writeHead(content === undefined ? 404 : 200).end(
      content ?? '{"errors":[{"code":"MANIFEST_UNKNOWN"}]}',
    );
  }
}
