/** `cai newest-version`, which the look for a newer version starts: asks npm's registry, and keeps what it says. */
import { name as packageName } from '../../../package.json';
import { loadConfig } from '../../config/config';
import { Requests } from '../../network';
import { replaceFile } from '../../system/files/replace-file';
import type { Host } from '../../system/host';
import { objectIn } from '../../system/unless';
import { newestFile } from '../support/update-notice';

/** Rejects where it has no answer; nobody hears of that. npm's variable, or the configuration, names another registry. */
export async function run(_: readonly string[], host: Host): Promise<number> {
  const { network } = loadConfig(host);
  const registry = host.env.npm_config_registry ?? network.npmRegistry ?? 'https://registry.npmjs.org/';
  const latest = new URL(`${packageName}/latest`, registry.replace(/\/?$/, '/'));
  const { body } = await new Requests(network).ask(latest, { headers: {} });
  const version = objectIn(body.toString('utf8'))?.version;
  if (typeof version !== 'string') return 1;
  replaceFile(newestFile(host), version);
  return 0;
}
