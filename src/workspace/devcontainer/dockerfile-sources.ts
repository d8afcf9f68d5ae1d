/** Which files of the build context a Dockerfile reads. Source: Dockerfile reference. */
import { withoutEnd } from '../../system/paths/without-end';

/** Paths from the context's root, with `*` and its like as they are written; `all`: any file of the context, or unknown. */
export type Sources = readonly string[] | 'all';

/** What COPY, ADD and mounts name; too much rather than too little. */
export function sourcesIn(dockerfile: string): Sources {
  // Another sign that continues lines.
  if (/^[ \t]*#[ \t]*escape[ \t]*=/im.test(dockerfile)) return 'all';
  const lines = dockerfile
    .split(/\r?\n/)
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\[ \t]*\n/g, ' ')
    .split('\n');
  const sources = lines.flatMap((line) => sourcesOf(line));
  const paths = sources.map((source) => withoutEnd(source.replace(/^(\.?\/)+/, ''), '/'));
  return paths.some((path) => path === '' || path === '.' || path.includes('$'))
    ? 'all'
    : [...new Set(paths)];
}

function sourcesOf(line: string): string[] {
  const [, instruction = '', rest = ''] = /^\s*(?:ONBUILD\s+)?([A-Za-z]+)\s+(.*)/s.exec(line) ?? [];
  switch (instruction.toUpperCase()) {
    case 'COPY':
    case 'ADD':
      return copied(rest);
    case 'RUN':
      return [...rest.matchAll(/--mount=(\S+)/g)].flatMap(([, options = '']) => mounted(options));
    default:
      return [];
  }
}

function copied(text: string): string[] {
  const words = text.trim().split(/\s+/);
  const flags = words.filter((word) => word.startsWith('--'));
  if (flags.some((flag) => flag.startsWith('--from='))) return [];
  const rest = text.replace(/^(\s*--\S+)+/, '').trim();
  const list = rest.startsWith('[') ? listIn(rest) : words.filter((word) => !word.startsWith('--'));
  if (list === undefined) return ['.'];
  const isElsewhere = /^([a-z][a-z\d+.-]*:\/\/|git@|<<)/i;
  return list.slice(0, -1).filter((source) => !isElsewhere.test(source));
}

function listIn(text: string): string[] | undefined {
  try {
    const list = JSON.parse(text) as unknown;
    return Array.isArray(list) && list.every((each) => typeof each === 'string') ? list : undefined;
  } catch {
    return undefined;
  }
}

/** A mount of the context is one of type bind, which is also what holds without a type. */
function mounted(text: string): string[] {
  const options = new Map(
    text.split(',').map((option): [string, string] => {
      const [name = '', ...value] = option.split('=');
      return [name.toLowerCase(), value.join('=')];
    }),
  );
  if ((options.get('type') ?? 'bind') !== 'bind' || options.has('from')) return [];
  return [options.get('source') ?? options.get('src') ?? '.'];
}
