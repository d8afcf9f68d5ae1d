/** A work tree with its history, as the program `copy` in the container takes it. Source: src/container/inside/copy. */
import { constants } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import { CaiError, messageOf } from '../../errors';
import { quoted } from '../../system/quoted';
import { pathOf, type Differing, type State } from './difference';
import type { Repository } from './repository';

type Kind = 'init' | 'bundle' | 'head' | 'end' | Differing['is'];

/** All of it, in parts that are small. `made` tells later what the copy was made from. Throws `CaiError('WORKSPACE')`. */
export async function* recordsOf(repository: Repository, state: State, made: string): AsyncGenerator<Buffer> {
  await repository.checkOwn();
  const format = await repository.ask(['rev-parse', '--show-object-format']);
  yield record('init', format, repository.shallow());
  const branches = await repository.ask(['for-each-ref', '--count=1', 'refs/heads']);
  const wanted = [...(branches === '' ? [] : ['--branches']), ...(state.commit === '' ? [] : ['HEAD'])];
  if (wanted.length > 0) {
    const git = repository.start(['bundle', 'create', '--quiet', '-', ...wanted]);
    git.stdin.end();
    for await (const part of git.stdout as AsyncIterable<Buffer>) yield record('bundle', '', part);
    await git.ended;
  }
  yield record('head', state.head);
  const inOrder = ['gone', 'file', 'link'] as const;
  for (const kind of inOrder)
    for (const each of state.differing) if (each.is === kind) yield* recordOf(repository.root, each);
  // What was sent may have come from elsewhere meanwhile.
  await repository.checkOwn();
  yield record('end', '', Buffer.from(made));
}

async function* recordOf(root: string, each: Differing): AsyncGenerator<Buffer> {
  if (each.is === 'gone') yield record('gone', each.name);
  else if (each.is === 'link') yield record('link', each.name, each.to);
  else yield* recordOfFile(root, each);
}

/** What is sent must be as long as it was said to be. */
async function* recordOfFile(root: string, { name, mode, size }: Differing & { is: 'file' }) {
  yield head('file', name, size, mode);
  let sent = 0;
  try {
    for await (const part of contentOf(root, name, size)) {
      sent += part.length;
      yield part;
    }
  } catch (reason) {
    throw new CaiError('WORKSPACE', `${quoted(name)} cannot be copied: ${messageOf(reason)}`);
  }
  if (sent === size) return;
  throw new CaiError('WORKSPACE', `${quoted(name)} was changed while it was copied: run the command again`);
}

async function* contentOf(root: string, name: string, size: number): AsyncGenerator<Buffer> {
  if (size === 0) return;
  const path = pathOf(root, name);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  // Above it, a folder may have become a link since it was looked at.
  const [real, opened] = [await realpath(path, { encoding: 'buffer' }), await file.stat()];
  const named = await stat(real);
  if (!real.equals(path) || named.ino !== opened.ino || named.dev !== opened.dev) {
    await file.close();
    throw new Error('a folder on the way to it was exchanged');
  }
  yield* file.createReadStream({ end: size - 1 }) as AsyncIterable<Buffer>;
}

function record(kind: Kind, name: string, bytes: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([head(kind, name, bytes.length), bytes]);
}

function head(kind: Kind, name: string, length: number, mode = 0): Buffer {
  const bytes = Buffer.from(name, 'latin1');
  return Buffer.concat([Buffer.from(`${kind} ${bytes.length} ${length} ${mode.toString(8)}\n`), bytes]);
}
