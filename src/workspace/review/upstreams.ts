/** What everyday commands of git, such as `git push -u`, write into a repository's configuration. */

/** A section that only says where a branch comes from, as git writes it. The last line of what is before it is whole. */
const upstream =
  /(?<=^|[^\\]\n)\[branch "[^"\\\n]+"\]\n(?:\t(?:remote = [\w.-]+|merge = refs\/heads\/[^\s"\\#;]+|rebase = (?:true|false))\n)+(?=\[|$)/g;

const remoteKey = '\tremote = ';

/**
 * Whether two texts of a configuration differ only in branches that come from one of its remotes, or from this repository:
 * no program runs other things then. What git may read in another way counts as a difference.
 */
export function differsInUpstreams(before: string, now: string): boolean {
  const rest = now.replaceAll(upstream, '');
  if (rest !== before.replaceAll(upstream, '')) return false;
  const lines = (now.match(upstream) ?? []).join('').split('\n');
  const remotes = lines
    .filter((line) => line.startsWith(remoteKey))
    .map((line) => line.slice(remoteKey.length));
  return remotes.every((name) => name === '.' || rest.includes(`\n[remote "${name}"]\n`));
}
