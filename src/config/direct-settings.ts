/** What holds by default where agents run on this machine: nothing keeps them from the files that editors serve. */
import type { Key, Setting } from './config-reader';

/** The variable that says so, as it is set. */
export const directSpawn = 'CAI_ACP_DIRECT_SPAWN=1';

/** What to add to the user's settings: `[acp] fs = "editor"`, unless the user has set it. */
export function directSettings(
  env: NodeJS.ProcessEnv,
  settings: readonly Setting[],
  keys: readonly Key[],
): Setting[] {
  if (env.CAI_ACP_DIRECT_SPAWN !== '1') return [];
  const key = keys.find(({ path }) => path.join('.') === 'acp.fs')!;
  if (settings.some((setting) => setting.key === key)) return [];
  return [{ key, path: key.path, written: 'editor', value: 'editor' }];
}
