/** The variables of devcontainer.json. Source: Development Containers, "Variables in devcontainer.json". */
import { posix } from 'node:path';
import { withTexts, type Json } from './json';

export interface VariableValues {
  readonly localFolder: string;
  /** The variables of this machine that the user lets in. */
  readonly localEnv: Readonly<Record<string, string>>;
  /** Where the workspace is inside; absent: that is not known yet, and what needs it stays as it is. */
  readonly containerFolder?: string;
  /** The environment inside; absent as `containerFolder`. */
  readonly containerEnv?: Readonly<Record<string, string>>;
}

/** A value with what its variables stand for, in all its strings. One that nobody knows stays as it is. */
export function substitute<T extends Json>(value: T, values: VariableValues): T {
  return withTexts(value, (text) =>
    text.replace(/\$\{([^{}]*)\}/g, (whole, name: string) => valueOf(name, values) ?? whole),
  ) as T;
}

function valueOf(text: string, values: VariableValues): string | undefined {
  const [kind = '', name = '', ...otherwise] = text.split(':');
  const { localFolder, localEnv, containerFolder, containerEnv } = values;
  const given = (variables: Readonly<Record<string, string>>): string =>
    Object.hasOwn(variables, name) ? variables[name]! : otherwise.join(':');
  switch (kind) {
    case 'localEnv':
    case 'env':
      return given(localEnv);
    case 'containerEnv':
      return containerEnv && given(containerEnv);
    case 'localWorkspaceFolder':
      return localFolder;
    case 'localWorkspaceFolderBasename':
      return posix.basename(localFolder);
    case 'containerWorkspaceFolder':
      return containerFolder;
    case 'containerWorkspaceFolderBasename':
      return containerFolder && posix.basename(containerFolder);
    default:
      return undefined;
  }
}
