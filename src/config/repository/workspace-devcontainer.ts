/** The development container of a workspace: which one is meant, and whether the user trusts it as it is now. */
import { posix } from 'node:path';
import { notStarted } from '../../workspace/devcontainer/compose/beside';
import { readDevcontainer, type Devcontainer } from '../../workspace/devcontainer/devcontainer';
import { devcontainerNames, findDevcontainer } from '../../workspace/devcontainer/find';
import { isObject, placesInJson } from '../../workspace/devcontainer/json';
import { CaiError } from '../../errors';
import type { Host } from '../../system/host';
import { commandWord, quoted } from '../../system/quoted';
import { recorded } from '../../workspace/records';
import { configKeys, configOf, type Config } from '../config';
import { settingsOf, type Setting } from '../config-reader';
import { JudgedFile } from './judge';

export interface WorkspaceDevcontainer {
  readonly file: string;
  /** As the user trusts it; `undefined`: it is not trusted as it is now, or cannot be used, and is not used. */
  readonly trusted: ReadDevcontainer | undefined;
}

export interface ReadDevcontainer {
  readonly content: Devcontainer;
  /** `customizations.containai`, if it is trusted. */
  readonly judged: JudgedFile;
  /** A sentence for each part that is ignored. */
  readonly ignored: readonly string[];
}

interface Found {
  /** `undefined`: none, or it is not known which is meant. */
  readonly devcontainer: WorkspaceDevcontainer | undefined;
  /** A sentence why there is one that is not used. */
  readonly notices: readonly string[];
}

/** Looks for the one that `config` means. `before`: the settings that hold without it. */
export function findWorkspaceDevcontainer(
  host: Host,
  root: string,
  config: Pick<Config, 'devcontainer' | 'env'>,
  before: readonly Setting[],
): Found {
  const { use, name } = config.devcontainer;
  if (!use) return { devcontainer: undefined, notices: [] };
  const file = findDevcontainer(root, name);
  if (file === undefined) return { devcontainer: undefined, notices: choiceNotice(root, name) };
  const digest = recorded(host.folders.state, 'trusted', file);
  const unused = (why: string) => ({
    devcontainer: { file, trusted: undefined },
    notices: [`${quoted(file)} is not used, because ${why}`],
  });
  const remedy = `run: cai trust ${commandWord(root)}; to be told no more, set "devcontainer.use" to false`;
  if (digest === undefined) return unused(`you have not agreed to it: if you want it, ${remedy}`);
  try {
    const trusted = readWorkspaceDevcontainer(host, root, file, config, before);
    if (trusted.content.digest === digest) return { devcontainer: { file, trusted }, notices: [] };
    return unused(`it has changed since you agreed to it: if you want it as it is now, ${remedy}`);
  } catch (reason) {
    if (reason instanceof CaiError) return unused(reason.message);
    throw reason;
  }
}

/** Reads it, whether it is trusted or not. Fails with `CaiError('CONFIG')` for one that cannot be used. */
export function readWorkspaceDevcontainer(
  { env, home }: Host,
  root: string,
  file: string,
  config: Pick<Config, 'env'>,
  before: readonly Setting[],
): ReadDevcontainer {
  const names = config.env.import.filter((name) => env[name] !== undefined);
  const content = readDevcontainer(root, file, Object.fromEntries(names.map((name) => [name, env[name]!])));
  const { settings, text } = content;
  const { customizations } = settings;
  const own = isObject(customizations) ? customizations.containai : undefined;
  const placeOf = placesInJson(text);
  const source = {
    file,
    text,
    base: { folder: posix.dirname(file), home },
    placeOf: (path: Setting['path']) => placeOf(['customizations', 'containai', ...path]),
  };
  const said = settingsOf(isObject(own) ? own : {}, source, configKeys);
  const judge = (settings: readonly Setting[]) => new JudgedFile({ ...source, settings }, before, true);
  const beside = besideServices(content, said, judge(said).settings);
  const judged = judge([...said, ...beside.settings]);
  const all = { ...content, ignored: [...content.ignored, ...beside.notices] };
  const notices = judged.notices({ never: 'put it into your own config.toml', widens: '' });
  return { content: all, judged, ignored: [...all.ignored, ...notices] };
}

/**
 * The services of a Compose project as settings, behind those that the file itself has (`own`). Of one name, those count
 * that hold without them (`all`). `notices`: a sentence for each that does not run.
 */
function besideServices({ services, file }: Devcontainer, own: readonly Setting[], all: readonly Setting[]) {
  const keys = configKeys.filter(({ path }) => path[0] === 'services');
  const isName = ({ key }: Setting) => keys.includes(key) && key.field === 'name';
  const taken = new Set(all.filter(isName).map(({ value }) => value));
  const { engine, network } = configOf(all);
  const settings: Setting[] = [];
  const notices: string[] = [];
  let position = own.filter(isName).length;
  for (const { name, table, from } of services.filter((each) => !taken.has(each.name))) {
    const rows = keys.flatMap((key) => {
      const field = key.path.at(-1)!;
      const written = table[field];
      return written === undefined ? [] : [{ key, field, written, value: key.kind.read(written) }];
    });
    const misfit = rows.find(({ value }) => value === undefined);
    const why =
      engine.kind === 'kubernetes'
        ? 'cai runs no services in a cluster yet'
        : network.egress === 'open'
          ? '"network.egress" is "open", with which other containers would reach it'
          : misfit && `its "${misfit.field}" must be ${misfit.key.kind.expected}`;
    if (why !== undefined) notices.push(notStarted(file, name, why));
    else {
      for (const { key, field, written, value } of rows)
        settings.push({ key, path: ['services', position, field], written, value, from: () => [from] });
      position += 1;
    }
  }
  return { settings, notices };
}

/** Of more development containers only the number is told: an agent can make many. */
const maxNamed = 10;

function choiceNotice(root: string, name: string | undefined): string[] {
  const names = devcontainerNames(root);
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  const list = `${names
    .slice(0, maxNamed)
    .map((each) => quoted(each))
    .join(', ')}${more}`;
  if (name !== undefined)
    return [
      `"devcontainer.name" is ${quoted(name)}, which is no folder with a devcontainer.json in ${quoted(`${root}/.devcontainer`)}${list && `: choose one of ${list}`}`,
    ];
  if (names.length === 0) return [];
  return [
    `none of the development containers of ${quoted(root)} is used: choose one of ${list} as "devcontainer.name" in your config.toml, or set "devcontainer.use" to false`,
  ];
}
