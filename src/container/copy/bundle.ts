/**
 * What a container gives back: a bundle of git, from whoever rules there. Its commits come into the repository, its names
 * only as `refs/remotes/cai/NAME`, and nothing is checked out.
 */
import type { Readable } from 'node:stream';
import { CaiError } from '../../errors';
import { printableCharacters } from '../../system/quoted';
import type { Repository } from './repository';

/** A branch that was brought. */
export interface Brought {
  /** As the user can name it: `cai/main`. */
  readonly name: string;
  /** How many commits it has that no branch here has. */
  readonly commits: number;
}

/** What came of a bundle; `refused`: names that are not taken. */
export type Taken = Readonly<{ brought: readonly Brought[]; refused: readonly string[] }>;

type Ref = Readonly<Record<'name' | 'id', string>>;

/** All of a bundle before its pack is no longer than that, in bytes. */
const maxHeaderBytes = 1024 * 1024;
/** More branches are no work of an agent. */
const maxBranches = 1_000;

/** In place of a branch: what was not committed, and a HEAD that is on no branch. */
const special = { 'refs/cai/uncommitted': 'uncommitted', HEAD: 'detached' } as const;

/**
 * Takes a bundle over, of at most `maxBytes`. Rejects with `CaiError('WORKSPACE')` for what is no bundle, is too large, lacks
 * something or is damaged; no name has changed then.
 */
export async function takeBundle(repository: Repository, stream: Readable, maxBytes: number): Promise<Taken> {
  await repository.checkOwn();
  const guarded = repository.guarded();
  const refs = await headerOf(stream);
  const wanted = new Map<string, string>();
  const refused: string[] = [];
  for (const { name, id } of refs) {
    const own = ownName(name);
    if (own === undefined) refused.push(name);
    else wanted.set(own, id);
  }
  if (wanted.size > maxBranches) throw bad(`it has more than ${maxBranches} branches`);
  if (wanted.size === 0) {
    stream.destroy();
    return { brought: [], refused };
  }
  await guarded.ask(
    ['index-pack', '--stdin', '--fix-thin', '--strict', `--max-input-size=${maxBytes}`],
    stream,
  );
  const ids = [...new Set(wanted.values())];
  await checkWhole(guarded, ids);
  const brought: Brought[] = [];
  for (const [name, id] of wanted) {
    const count = await guarded.ask(['rev-list', '--count', id, '--not', '--branches']);
    brought.push({ name: `cai/${name}`, commits: Number(count) });
  }
  const updates = [...wanted].map(([name, id]) => `update refs/remotes/cai/${name} ${id}\n`);
  const change = ['update-ref', '--no-deref', '--stdin', '-m', 'cai pull'];
  const inTheWay = (await namesHere(repository)).filter((here) =>
    [...wanted.keys()].some((name) => name.startsWith(`${here}/`) || here.startsWith(`${name}/`)),
  );
  // First: git takes no name for which another has to go in the same step.
  if (inTheWay.length > 0)
    await repository.ask(change, inTheWay.map((name) => `delete refs/remotes/cai/${name}\n`).join(''));
  await repository.ask(change, updates.join(''));
  return { brought, refused };
}

/** Names of earlier pulls, below `refs/remotes/cai/`. */
async function namesHere(repository: Repository): Promise<string[]> {
  const names = await repository.ask(['for-each-ref', '--format=%(refname:lstrip=3)', 'refs/remotes/cai']);
  return names.split('\n').filter(Boolean);
}

/** All that they lead to is there, and they are commits. */
async function checkWhole(repository: Repository, ids: readonly string[]): Promise<void> {
  const lines = ids.join('\n');
  const kinds = await repository.ask(['cat-file', '--batch-check=%(objecttype)'], `${lines}\n`);
  if (kinds.split('\n').some((kind) => kind !== 'commit')) throw bad('a branch is no commit');
  await repository.ask(['rev-list', '--objects', '--stdin', '--not', '--all', '--quiet'], `${lines}\n`);
}

/** What a name of a bundle is called here, below `refs/remotes/cai/`; `undefined`: it is not taken. */
function ownName(ref: string): string | undefined {
  if (Object.hasOwn(special, ref)) return special[ref as keyof typeof special];
  const name = /^refs\/heads\/(.{1,200})$/su.exec(ref)?.[1];
  if (name === undefined || ['HEAD', ...Object.values(special)].includes(name.split('/')[0]!))
    return undefined;
  // Narrower than git's own rule: nothing that a shell or a terminal would read as more than a name.
  const isFine = name
    .split('/')
    .every(
      (part) => /^[\p{L}\p{N}_][\p{L}\p{N}\p{M}_.+=@,-]*$/u.test(part) && !/\.\.|\.$|\.lock$/u.test(part),
    );
  return isFine && printableCharacters(name) === name ? name : undefined;
}

/**
 * The names in a bundle; none of an empty stream. What is left in the stream is the pack. Source: gitformat-bundle(5),
 * versions 2 and 3.
 */
async function headerOf(stream: Readable): Promise<Ref[]> {
  const header = await untilEmptyLine(stream);
  if (header === undefined) return [];
  const [signature = '', ...lines] = header.split('\n');
  if (!/^# v[23] git bundle$/.test(signature)) throw bad('it is no bundle of git');
  return lines.flatMap((line): Ref[] => {
    const [, id, name] = /^([0-9a-f]{40}|[0-9a-f]{64}) (.+)$/s.exec(line) ?? [];
    if (id !== undefined && name !== undefined) return [{ id, name }];
    // What it builds on is looked for later.
    if (/^-[0-9a-f]{40,64}( |$)/.test(line) || /^@object-format=sha(1|256)$/.test(line)) return [];
    throw bad('it is no bundle of git that we know');
  });
}

async function untilEmptyLine(stream: Readable): Promise<string | undefined> {
  const header = Buffer.alloc(maxHeaderBytes + 2);
  let length = 0;
  for await (const part of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    // It can come in single bytes, of which each is looked at once.
    const taken = part.copy(header, length);
    const end = header.subarray(0, length + taken).indexOf('\n\n', Math.max(length - 1, 0));
    length += taken;
    if (end >= 0) {
      stream.unshift(Buffer.concat([header.subarray(end + 2, length), part.subarray(taken)]));
      return header.toString('utf8', 0, end);
    }
    if (length === header.length) throw bad('it names too much');
  }
  if (length > 0) throw bad('it has broken off');
  return undefined;
}

function bad(why: string): CaiError {
  return new CaiError('WORKSPACE', `what the container gave back cannot be taken, because ${why}`);
}
