/** `cai review`: shows what in a workspace the user's programs would run and is not as it was; puts it back. */
import { existsSync } from 'node:fs';
import { normalize } from 'node:path';
import { Option } from 'commander';
import { CaiError } from '../../errors';
import { copyOf, folderNow, readBaseline } from '../../workspace/protect/baseline';
import { accept, changesIn, forgetTold, type Change } from '../../workspace/review/changes';
import { differenceOf } from '../../workspace/review/difference';
import { crowd, fileIn } from '../../workspace/protect/inventory';
import { asideFolder, putBack } from '../../workspace/review/put-back';
import { printableLine, quoted } from '../../system/quoted';
import { recordedRoots } from '../../workspace/records';
import { common, declare } from '../support/command';
import { namedRoot } from '../support/named-root';
import { shownTime, table, writeJson } from '../support/terminal';
import { withoutEnd } from '../../system/paths/without-end';

interface Options {
  readonly workspace?: string;
  readonly restore?: true;
  readonly accept?: true;
  readonly json?: true;
}

/** Resolves with 0 if nothing is left to look at, else with 1. */
export const run = declare<Options>({
  name: 'review',
  description: `Shows files in a workspace that programs on your machine may run, such as git hooks and editor tasks, if they
are not as they were before an agent worked there. The exit status is 1 if there are any, else 0.`,
  arguments: [['[path...]', 'only these paths, as they are listed, and what is below them']],
  options: [
    common.workspace,
    ['--restore', 'restore the earlier state; new files are moved into a folder of cai'],
    new Option('--accept', 'accept what is shown, so that it is not reported again').conflicts('restore'),
    new Option(...common.json).conflicts(['restore', 'accept']),
  ],
  footer: `
JSON: workspace, since (what it is compared with; null: not known), changes: each with kind ("new", "changed", "gone", or
"unknown": what was there before is not known), path (as it is listed) and difference.`,
  action: async (options, host, paths) => {
    const root = await namedRoot(options.workspace ?? '.', host);
    if (!existsSync(root))
      throw new CaiError('WORKSPACE', `${quoted(root)} does not exist: name another folder with --workspace`);
    return review(root, host.folders.state, options, paths.map(normalize));
  },
});

function review(root: string, state: string, options: Options, paths: readonly string[]): number {
  const { stdout } = process;
  const known = readBaseline(state, root);
  const isKnown = known === undefined ? recordedRoots(state).includes(root) : known.was === folderNow(root);
  const changes = isKnown ? chosen(changesIn(state, root), paths) : [];
  if (options.json === true) {
    const since = isKnown && known !== undefined ? new Date(known.at).toISOString() : null;
    writeJson({ workspace: root, since, changes: changes.map((change) => objectOf(change, state)) });
    return changes.length === 0 ? 0 : 1;
  }
  if (!isKnown) {
    stdout.write(`No agent has worked in ${quoted(root)} yet, so there is nothing to compare it with.\n`);
    return 0;
  }
  if (changes.length === 0) {
    const since =
      known && `: all is as it was on ${shownTime(new Date(known.at).toISOString())}, or was accepted`;
    stdout.write(`Nothing to review in ${quoted(root)}${since ?? ''}.\n`);
    return 0;
  }
  if (options.restore === true) return restore(root, changes, state);
  stdout.write(`In ${quoted(root)} programs on your machine may run these:\n`);
  const rows = changes.map(({ kind, name }) => [`  ${kind}`, name]);
  stdout.write(table([['  KIND', 'PATH'], ...rows], ['PATH']));
  if (known === undefined) stdout.write('What was there before is not known.\n');
  for (const change of changes) stdout.write(`\n${objectOf(change, state).difference}`);
  return options.accept === true ? acceptAll(root, changes, state) : 1;
}

function objectOf(change: Change, state: string) {
  const { kind, name: path } = change;
  return { kind, path, difference: differenceOf(change, bytesBefore(change, state)) };
}

function acceptAll(root: string, changes: readonly Change[], state: string): number {
  const crowds = changes.filter(({ now }) => now?.state === crowd);
  const others = changes.filter((change) => !crowds.includes(change));
  accept(state, root, others);
  if (others.length > 0)
    process.stdout.write(
      '\nAccepted. A container that runs can still write what is new: after "cai stop" it no longer can.\n',
    );
  for (const each of crowds) say(each, 'not accepted, because later changes there would not be noticed');
  return crowds.length === 0 ? 0 : 1;
}

function say({ name }: Change, what: string): void {
  process.stdout.write(`${printableLine(name)}: ${what}\n`);
}

/** Fails with `CaiError('USAGE')` for a path that has no change, which may be misspelled. */
function chosen(changes: readonly Change[], paths: readonly string[]): readonly Change[] {
  if (paths.length === 0) return changes;
  const isIn = ({ name }: Change, path: string): boolean =>
    `${name}/`.startsWith(`${withoutEnd(path, '/')}/`);
  const stray = paths.find((path) => !changes.some((change) => isIn(change, path)));
  if (stray !== undefined)
    throw new CaiError('USAGE', `${quoted(stray)} is not listed: see "cai review" for what is`);
  return changes.filter((change) => paths.some((path) => isIn(change, path)));
}

function bytesBefore({ folder, before }: Change, state: string): Buffer | undefined {
  const digest = before === undefined ? undefined : fileIn(before)?.digest;
  return digest === undefined ? undefined : copyOf(state, folder, digest);
}

/** What was not known before is left: it may have been there always. */
function restore(root: string, changes: readonly Change[], state: string): number {
  const known = changes.filter(({ kind }) => kind !== 'unknown');
  const aside = asideFolder(state, root, new Date());
  const done = new Set<string>();
  for (const change of known) {
    const { aside: kept, failure } = putBack(state, change, aside);
    const verb = change.before === undefined ? 'removed' : 'put back';
    if (failure === undefined) done.add(`${change.folder}/${change.path}`);
    const where = kept === undefined ? '' : `; what was there is in ${printableLine(kept)}`;
    say(change, failure === undefined ? `${verb}${where}` : `left as it is: ${printableLine(failure)}`);
  }
  forgetTold(state, known);
  for (const each of changes)
    if (each.kind === 'unknown') say(each, 'left as it is: what was there before is not known');
  if (changesIn(state, root).some(({ folder, path }) => done.has(`${folder}/${path}`)))
    process.stdout.write('Something has been changed again: run "cai stop", then this once more.\n');
  else if (done.size === changes.length) return 0;
  return 1;
}
