/** Words of the tables of `cai serve`: who may come in, and under which names it is reached. */
import { absolutePath, listOf, path, type Kind } from './config-kinds';
import { normalHost } from './host-rules';
import { unixPathIn } from './serve-places';

/** The name of the user who runs the server, which nobody else can have. */
export const ownerName = 'owner';

/** Whether somebody who comes in may have that name: it stands in lists, in logs and in certificates. */
export function isPersonName(name: string): boolean {
  return /^[A-Za-z0-9][\w.@-]{0,63}$/.test(name) && name !== ownerName;
}

export const personName: Kind<string> = {
  expected: `a name of letters, digits and "._@-", at most 64, that begins with a letter or digit and is not "${ownerName}"`,
  read: (value) => (typeof value === 'string' && isPersonName(value) ? value : undefined),
};

/** As identity providers call them. Commas part them in a header. */
export const groupName: Kind<string> = {
  expected: 'the name of a group, without commas and without spaces around it',
  read: (value) =>
    typeof value === 'string' && /^[^,\s](?:[^,\p{C}]*[^,\s])?$/u.test(value) ? value : undefined,
};

/** The same, but a list without elements counts as no list. */
function filled<T>(kind: Kind<readonly T[]>): Kind<readonly T[]> {
  const isFilled = (value: unknown): boolean => Array.isArray(value) && value.length > 0;
  return { ...kind, read: (value, base) => (isFilled(value) ? kind.read(value, base) : undefined) };
}

/** Agents that are served. The first is the one of those who name none. */
export const agentNames = filled(
  listOf('a list of different names of agents, not empty', (name) => name !== ''),
);

export const folders = filled<string>({
  expected: 'a list of paths, each absolute or from "~/", not empty',
  read: (value, base) => {
    const paths = (value as readonly unknown[]).map((each) => absolutePath.read(each, base));
    return paths.every((each) => each !== undefined) ? paths : undefined;
  },
});

/** Everything, said in so many words, or what the list names. */
export function allOr<T>(kind: Kind<T>): Kind<T | 'all'> {
  return {
    ...kind,
    expected: `${kind.expected}, or "all"`,
    read: (value, base) => (value === 'all' ? value : kind.read(value, base)),
  };
}

const places = listOf(
  'a list of different addresses such as ["0.0.0.0:8722"], each HOST:PORT, https://HOST:PORT, tcp://HOST:PORT, tls://HOST:PORT or unix:PATH, not empty',
  (word) => /^(unix:.|((https?|tcp|tls):\/\/)?([^/]+:)?\d+\/?$)/.test(word),
);

/** Where the server listens: all of what `--listen` can say. */
export const listenPlaces = filled<string>({
  ...places,
  read: (value, base) => {
    const read = (place: string): string | undefined => {
      const socket = unixPathIn(place);
      if (socket === undefined) return place;
      const whole = path.read(socket, base);
      return whole && `unix:${whole}`;
    };
    const all = places.read(value)?.map(read);
    return all?.every((each) => each !== undefined) === true ? all : undefined;
  },
});

/** Names under which clients reach the server, as they stand in the header `Host`. */
export const servedHosts = listOf(
  'a list of different names or addresses of this machine, each with or without a port, such as ["agents.example.com"]',
  (word) => {
    const [, host = '', port = '1'] = /^(\[[\da-f:.]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(word) ?? [];
    return normalHost(host) === host.replace(/^\[|\]$/g, '') && Number(port) > 0 && Number(port) < 65_536;
  },
);

/** Where web pages come from, as browsers write it in the header `Origin`. Source: RFC 6454, section 6.1. */
export const webOrigins = listOf(
  'a list of different origins of web pages, such as ["https://editor.example.com"]',
  (word) => {
    // The parser knows no origin for the schemes of editors' pages.
    if (!/^https?:/.test(word)) return /^[a-z][a-z\d+.-]*:\/\/[\w.-]+$/.test(word);
    return /^[^*]+$/.test(word) && URL.canParse(word) && new URL(word).origin === word;
  },
);
