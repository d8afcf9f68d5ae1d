/** Lists of words of one sort: packages, variables, hosts. */
import { posix } from 'node:path';
import { builtin } from '../system/builtin';
import { isFilePath } from '../system/real-path';
import { command, listOf, matching, numbersOf, path, type Kind } from './config-kinds';
import { normalHost, parseRule } from './host-rules';

export const imageName = matching('the name of an image, such as "node:22-bookworm-slim"', /^\w[\w./:@-]*$/);

/** Where a registry keeps images: its host, which no folder of Docker's own registry could be, and perhaps a path. */
export const imageRegistry = matching(
  'a registry and perhaps a path, such as "ghcr.io/team/cai" or "127.0.0.1:5000"',
  /^(?:localhost|[a-z\d-]+(?:\.[a-z\d-]+)+|\[[\da-f:]+\]|[a-z\d-]+(?=:))(?::\d{1,5})?(?:\/[a-z\d]+(?:(?:[._]|__|-+)[a-z\d]+)*)*$/,
);

/** What npm can install by name and version or tag; never an option, a file or an address. */
export const packages = listOf('a list of different npm packages, such as ["my-agent@1.2.3"]', (word) =>
  /^(@[a-z\d][\w.-]*\/)?[a-z\d][\w.-]*(@[\w.^~-]+)?$/i.test(word),
);

/** A name that stands for the loopback address in a container, beside those that do already. */
export const serviceName = matching(
  'a name such as "db": lower-case letters, digits, "-" and "_", at most 32, but not "localhost"',
  /^(?!localhost$)[a-z](?:[a-z\d_-]{0,30}[a-z\d])?$/,
);

export const serviceNames = listOf(
  'a list of different names of services, such as ["db"]',
  (word) => serviceName.read(word) !== undefined,
);

export const serviceVariables = listOf(
  'a list of different strings "NAME=value", such as ["POSTGRES_PASSWORD=dev"]',
  (word) => /^[A-Za-z_]\w*=[^\0]*$/.test(word),
);

/** Where a volume is mounted in a service: never over all of it. */
export const innerPath = matching(
  'an absolute path in the container of the service, such as "/var/lib/postgresql/data"',
  /^(?:\/(?!\.{1,2}(?:\/|$))[^/\0]+)+$/,
);

export const folderName = matching('the name of a folder', /^(?!\.{1,2}$)[^/\0]+$/);

/** What apt can install by name and version; never an option or a file. Source: Debian Policy, 5.6.7 and 5.6.12. */
export const debianPackages = listOf(
  'a list of different Debian packages, such as ["golang", "libpq-dev"]',
  (word) => /^[a-z\d][a-z\d+.-]+(=[\w.+:~-]+)?$/.test(word),
);

export const serverNames = listOf('a list of different names of MCP servers', (name) => name !== '');

/** What the container sets itself, or what names places of the host that it does not have. */
const ownVariables = new Set(
  'PATH HOME USER LOGNAME SHELL PWD OLDPWD TMPDIR IS_SANDBOX CLAUDE_CONFIG_DIR'.split(' '),
);
/** What loads code into every program or shell. */
const loaders = /^(LD_|DYLD_)|^(ENV|BASH_ENV)$/;

/** Variables that a container can take from the host, also those for one kind of program, as `NODE_OPTIONS`. */
export const variables = listOf(
  'a list of different names of variables, but for those that the container sets itself or that load code (PATH, HOME, LD_PRELOAD and the like)',
  (word) =>
    /^[A-Za-z_]\w*$/.test(word) &&
    !ownVariables.has(word) &&
    !loaders.test(word) &&
    !/^(CAI|XDG)_/.test(word),
);

const namesIn = (path: string): string[] => path.split('/');
const isPlain = (name: string): boolean => !['', '.', '..'].includes(name);

/** Each more makes it slower to find what fits, and the list can be a stranger's. */
const mostStarsInName = 4;

/** Paths below a workspace. A `**` would protect much less than whoever wrote it believes. */
export const pathsBelow = listOf(
  'a list of different paths below the workspace, such as ["tools/run.sh", "packages/*/.vscode"], where a "*" stands for a part of one name (at most 4 in each) and each folder is to be named, because there is no "**"',
  (word) =>
    !/\0|\*\*/.test(word) &&
    namesIn(word).every((name) => isPlain(name) && name.split('*').length - 1 <= mostStarsInName),
);

export const filesBelow = listOf(
  'a list of different paths below the repository, such as [".env", "certs/local"], without "*" and not in ".git"',
  (word) =>
    !/[\0*]/.test(word) && namesIn(word).every((name) => isPlain(name) && name.toLowerCase() !== '.git'),
);

export const foldersBelow = listOf(
  'a list of different folders below the workspace, such as ["node_modules", "packages/app/.venv"]',
  (word) => isFilePath(`/${word}`) && namesIn(word).every(isPlain),
);

/** `name:address`, where the address is an IP (without brackets) or `host-gateway`. */
export const extraHosts = listOf(
  'a list of different strings "name:address", the address an IP or host-gateway',
  (word) => {
    const [, name = '', address = ''] = /^([^:]+):(.+)$/.exec(word) ?? [];
    const isName =
      name.length <= 253 && name.split('.').every((label) => /^[a-z\d]([\w-]{0,61}[a-z\d])?$/i.test(label));
    // Loaded when it is wanted: few name a host.
    return isName && (address === 'host-gateway' || builtin('node:net').isIP(address) !== 0);
  },
);

export const hostRules = listOf(
  'a list of different rules such as ["example.com", "*.example.com:443", "10.0.0.0/8", "[fd00::/8]:22"]: a host in ASCII, "*." before it for all below it, or an address or range, and a port or ":*" after it',
  (word) => parseRule(word) !== undefined,
);

/** Ports at which a container's sshd can listen: it is an ordinary user's. Each command has a listener for each. */
export const hostPorts = numbersOf('ports', { least: 1_024, greatest: 65_535, most: 32 });

export const sshHosts = listOf(
  'a list of different names of hosts, in lower case, such as ["github.com", "git.example.com:2222"]',
  (word) => {
    const [, name = word, port = '22'] = /^(.*):(\d{1,5})$/.exec(word) ?? [];
    return normalHost(name) === name && !name.includes(':') && Number(port) >= 1 && Number(port) <= 65_535;
  },
);

/** What of the user's own settings an agent gets; which names there are depends on the agent. */
export const settingNames = listOf(
  'a list of different names of settings, such as ["CLAUDE.md", "skills"]',
  (word) => word !== '',
);

/** The services whose keys and hosts `src/network/keys/services.ts` knows. */
export const keyServices: readonly string[] = ['anthropic', 'openai', 'google', 'github', 'npm'];

export const keyed: Kind<string> = {
  expected: `the name of a host such as "api.example.com", or one of ${keyServices.map((name) => JSON.stringify(name)).join(', ')}`,
  read: (value) => {
    if (typeof value !== 'string') return undefined;
    const isHost = value.includes('.') && normalHost(value) === value && !/^[\d.]+$|:/.test(value);
    return keyServices.includes(value) || isHost ? value : undefined;
  },
};

/** Where a key is taken from: a variable, a file, or what a program prints. */
export const keySource: Kind<string | readonly [string, ...string[]]> = {
  expected: 'a string "env:NAME" or "file:PATH", or a list: a program that prints the key, and its arguments',
  read: (value, base) => {
    if (typeof value !== 'string') return command.read(value, base);
    if (/^env:[A-Za-z_]\w*$/.test(value)) return value;
    const file = value.startsWith('file:') ? path.read(value.slice('file:'.length), base) : undefined;
    return file === undefined ? undefined : `file:${file}`;
  },
};

export const keyHeader = matching(
  'the name of a header and what stands before the key, such as "Authorization: Bearer" or "X-Api-Key:"',
  /^[\w-]+:( *[\w-]+)?$/,
);

/** Name of a header, in any case. */
export const headerName = matching('the name of a header, such as "X-Auth-Request-Email"', /^[\w-]+$/);

const nodeLabel = /^[\w./-]{1,317}=[\w.-]{0,63}$/;

export const nodeLabels = listOf('a list of different strings "label=value"', (word) => nodeLabel.test(word));

/** `cai` knows its pods by its own ones. */
const isForeign = (word: string): boolean => !/^[^=]*containai/.test(word);

export const podLabels = listOf(
  'a list of different strings "label=value", none of a label of containai',
  (word) => nodeLabel.test(word) && isForeign(word),
);

export const podAnnotations = listOf(
  'a list of different strings "annotation=value", none of an annotation of containai',
  (word) => /^[\w./-]{1,317}=/.test(word) && isForeign(word),
);

/** What of a node's resources is kept for each pod, in Kubernetes' words. */
export const podRequests = listOf(
  'a list of different strings "resource=amount", such as ["cpu=500m", "memory=1Gi"]',
  (word) => /^[\w./-]{1,317}=\d+(\.\d+)?(m|k|[KMGTPE]i|[MGTPE])?$/.test(word),
);

export const innerFolders = listOf(
  'a list of different absolute paths, such as ["/tmp"]',
  (word) => /^\/[^/\0]/.test(word) && posix.resolve(word) === word,
);

/** Taints of nodes that pods put up with, as `kubectl taint` has them. */
export const tolerations = listOf(
  'a list of different strings "key=value:effect" or "key:effect", the effect NoSchedule, PreferNoSchedule or NoExecute',
  (word) => /^[\w./-]{1,317}(=[\w.-]{0,63})?:(NoSchedule|PreferNoSchedule|NoExecute)$/.test(word),
);

/** Source: Kubernetes, "Object Names and IDs". */
const objectName = /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/;

export const objectNames = listOf('a list of different names of objects of Kubernetes', (word) =>
  objectName.test(word),
);

/** Containers that a cluster adds to pods, by name or by image. */
export const injectedContainers = listOf(
  'a list of different names or images of containers, such as ["istio-proxy", "docker.io/istio/proxyv2:1.24.1"]',
  (word) => /^\w[\w./:@-]*$/.test(word),
);

/** Where pods find files: in a claim, or in a folder that every node has. */
export interface VolumeSource {
  /** Name of the claim; none: it is the nodes' own folder. */
  readonly claim?: string;
  /** In the claim, without a slash at either end; of the nodes, absolute. */
  readonly path: string;
}

export const volumeSource: Kind<VolumeSource> = {
  expected:
    'a string "claim:NAME", "claim:NAME/PATH" for a folder in it, or "node:/PATH" for a folder of the nodes',
  read: (value) => {
    const [, sort, rest = ''] = /^(claim|node):(.+)$/.exec(typeof value === 'string' ? value : '') ?? [];
    if (sort === undefined || !isFilePath(`/${rest}`) || /(^|\/)\.\.?(\/|$)/.test(rest)) return undefined;
    if (sort === 'node') return rest.startsWith('/') ? { path: posix.resolve(rest) } : undefined;
    const [claim = '', ...below] = rest.split('/').filter((name, index) => index === 0 || name !== '');
    return objectName.test(claim) ? { claim, path: below.join('/') } : undefined;
  },
};
