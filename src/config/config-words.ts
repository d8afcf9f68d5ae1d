/** What single words in config files may be: packages, variables, hosts. */
import { builtin } from '../system/builtin';

/** Whether npm can install that by name and version or tag; never an option, a file or an address. */
export function isPackage(word: string): boolean {
  return /^(@[a-z\d][\w.-]*\/)?[a-z\d][\w.-]*(@[\w.^~-]+)?$/i.test(word);
}

/** What the container sets itself, or what names places of the host that it does not have. */
const ownVariables = new Set(
  'PATH HOME USER LOGNAME SHELL PWD OLDPWD TMPDIR IS_SANDBOX CLAUDE_CONFIG_DIR'.split(' '),
);
/** What loads code into every program or shell. */
const loaders = /^(LD_|DYLD_)|^(ENV|BASH_ENV)$/;

/**
 * Whether that is the name of a variable that a container can take from the host. `NODE_OPTIONS` and the
 * like are: they are made for one kind of program, and asked for by name.
 */
export function isImportable(word: string): boolean {
  if (!/^[A-Za-z_]\w*$/.test(word)) return false;
  return !ownVariables.has(word) && !loaders.test(word) && !/^(CAI|XDG)_/.test(word);
}

/** Each more makes it slower to find what fits, and the list can be a stranger's. */
const mostStarsInName = 4;

/**
 * Whether that can stand for paths below a workspace: a `*` in it stands for a part of one name. A `**`, which stands
 * for any number of folders elsewhere, would protect much less than whoever wrote it believes.
 */
export function isPathBelow(word: string): boolean {
  if (word.includes('\0') || word.includes('**')) return false;
  return word
    .split('/')
    .every((name) => !['', '.', '..'].includes(name) && name.split('*').length - 1 <= mostStarsInName);
}

/** Whether that is `name:address`, where the address is an IP (without brackets) or `host-gateway`. */
export function isExtraHost(word: string): boolean {
  const [, name, address] = /^([^:]+):(.+)$/.exec(word) ?? [];
  if (name === undefined || address === undefined) return false;
  const isName =
    name.length <= 253 && name.split('.').every((label) => /^[a-z\d]([\w-]{0,61}[a-z\d])?$/i.test(label));
  if (!isName || address === 'host-gateway') return isName;
  // Loaded when it is wanted: few name a host.
  return builtin('node:net').isIP(address) !== 0;
}
