/** The headers of Node that the image has, where node-gyp looks for those that it has fetched. */
import { posix } from 'node:path';
import { agentHome } from '../../workspace/mount';
import type { InnerEntry, InnerFiles } from '../engine/engine';
import { file, folder, link } from './inner-entry';
import type { ContainerUser } from './spec';

/** Where Node's official images have their headers. */
const prefix = '/usr/local';

/** Tells which version they are of. */
const versionFile = `${prefix}/include/node/node_version.h`;

/**
 * By these a native module needs no network. The variable that names headers to node-gyp would also stand for those of
 * another Node. None in a development container, whose home folder has links. Source: node-gyp, `lib/install.js`.
 */
export async function nodeHeaders(
  inside: Pick<InnerFiles, 'read'>,
  user: ContainerUser,
  devcontainer: string | undefined,
): Promise<InnerEntry[]> {
  const found = devcontainer === undefined ? await inside.read(versionFile) : undefined;
  const text = found?.content.toString() ?? '';
  const numbers = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => new RegExp(`^#define NODE_${part}_VERSION (\\d+)$`, 'm').exec(text)?.[1],
  );
  if (numbers.includes(undefined)) return [];
  const cache = `${agentHome}/.cache`;
  const version = `${cache}/node-gyp/${numbers.join('.')}`;
  return [
    ...[cache, posix.dirname(version), version].map((path) => folder(path, 0o755, user)),
    // What has an older form is fetched again.
    file(`${version}/installVersion`, '11\n', 0o644, user),
    link(`${version}/include`, `${prefix}/include`, user),
  ];
}
