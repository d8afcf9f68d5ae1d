/** The two names that a file of the workspace has: the editor's and the agent's. */
import { posix } from 'node:path';
import { maxPathLength } from '../real-path';

/**
 * Translates paths and `file:` URIs of one workspace. A path below any root of one side gets the first root of the
 * other, by whole segments after lexical normalisation, the longest root first; one trailing slash stays. What is
 * relative, outside every root or below the root that it would get comes back as the same string. Purely lexical: it
 * says where a name belongs, not whether somebody may use it.
 */
export interface PathMap {
  /** One root for both sides: every function returns what it is given. */
  readonly isIdentity: boolean;
  /** The workspace as the editor may name it. */
  readonly hostRoots: readonly string[];
  /** A path of the editor, as the agent names it. */
  readonly toAgent: (path: string) => string;
  /** A path of the agent, as the editor names it. */
  readonly toEditor: (path: string) => string;
  /**
   * For URIs with the scheme `file` and no host or `localhost` (RFC 8089); others come back as they are. What follows
   * the root keeps its own percent-encoding, but empty and dot segments are resolved. A URI in which an encoded slash, a
   * NUL or a backslash could hide a segment is not mapped.
   */
  readonly uriToAgent: (uri: string) => string;
  /** As `uriToAgent`, the other way. */
  readonly uriToEditor: (uri: string) => string;
}

/** The map between two sets of absolute roots, the first of each is written: spelling, real path; mount, links. */
export function createPathMap({
  hostRoots,
  agentRoots,
}: Readonly<Record<'hostRoots' | 'agentRoots', readonly string[]>>): PathMap {
  const toAgent = new Direction(hostRoots, agentRoots[0]!);
  const toEditor = new Direction(agentRoots, hostRoots[0]!);
  return {
    isIdentity: toAgent.isIdentity && toEditor.isIdentity,
    hostRoots,
    toAgent: (path) => toAgent.path(path),
    toEditor: (path) => toEditor.path(path),
    uriToAgent: (uri) => toAgent.uri(uri),
    uriToEditor: (uri) => toEditor.uri(uri),
  };
}

/** Empty, `.` or `..` segments, or a name that begins with a dot: normalising is only worth it then. */
const irregular = /\/[/.]/;
/** Of a longer URI, not even the path without its encoding names a file. */
const maxUriLength = 4 * maxPathLength;
/** Scheme with authority, path, query with fragment. */
const fileUri = /^(file:(?:\/\/(?:localhost)?(?=\/)|(?=\/(?!\/))))(\/[^?#]*)(.*)/is;
/** What some readers of URIs take for a separator or an end, and a broken escape. */
const ambiguous = /%2f|%00|%5c|\\|%(?![0-9a-f]{2})/i;

/** One way through the map. Roots are kept without a trailing slash, so that `/` is the empty string. */
class Direction {
  readonly isIdentity: boolean;
  readonly #from: readonly string[];
  readonly #to: string;
  readonly #encodedTo: string;

  constructor(from: readonly string[], to: string) {
    this.#to = withoutSlash(to);
    this.#from = from.map(withoutSlash).sort((a, b) => b.length - a.length);
    this.#encodedTo = this.#to.split('/').map(encodeSegment).join('/');
    this.isIdentity = this.#from.every((root) => root === this.#to);
  }

  path(path: string): string {
    if (this.isIdentity || !path.startsWith('/') || path.length > maxPathLength) return path;
    const plain = irregular.test(path) ? posix.normalize(path) : path;
    const root = this.#rootOf(plain);
    if (root === undefined || root === this.#to) return path;
    return this.#to + plain.slice(root.length) || '/';
  }

  uri(uri: string): string {
    if (this.isIdentity || uri.length > maxUriLength) return uri;
    const [, scheme, path, rest] = fileUri.exec(uri) ?? [];
    if (scheme === undefined || path === undefined || rest === undefined || ambiguous.test(path)) return uri;
    const segments = resolveSegments(path);
    const root = this.#rootOf(`/${segments.map(decodeSegment).join('/')}`);
    if (root === undefined || root === this.#to) return uri;
    const below = segments.slice(root.split('/').length - 1).map((segment) => `/${segment}`);
    return scheme + (this.#encodedTo + below.join('') || '/') + rest;
  }

  #rootOf(plain: string): string | undefined {
    return this.#from.find(
      (root) => plain.startsWith(root) && (plain.length === root.length || plain[root.length] === '/'),
    );
  }
}

function withoutSlash(root: string): string {
  return posix.resolve(root).replace(/^\/$/, '');
}

/** The segments of an encoded path without empty and dot ones; a trailing slash leaves an empty last one. */
function resolveSegments(path: string): string[] {
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    const name = decodeSegment(segment);
    if (name === '..') segments.pop();
    else if (name !== '' && name !== '.') segments.push(segment);
  }
  if (path.endsWith('/')) segments.push('');
  return segments;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // Not UTF-8: a name that no root and no dot segment has.
    return segment;
  }
}

/** Everything but `pchar` of RFC 3986, section 3.3, encoded. */
function encodeSegment(segment: string): string {
  // A lone surrogate has no encoding; as a file name it is U+FFFD.
  const encoded = encodeURIComponent(Buffer.from(segment).toString());
  return encoded.replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent);
}
