/** A user whose editors have settings, or none. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { userWith, type CliResult } from '../../support/cli';
import { runHere } from '../../support/cli-here';

export const settings: Readonly<Record<string, string>> = {
  zed: '.config/zed/settings.json',
  vscode: '.config/Code/User/settings.json',
  'vscode-insiders': '.config/Code - Insiders/User/settings.json',
  'code-oss': '.config/Code - OSS/User/settings.json',
  vscodium: '.config/VSCodium/User/settings.json',
  cursor: '.config/Cursor/User/settings.json',
  windsurf: '.config/Windsurf/User/settings.json',
  jetbrains: '.jetbrains/acp.json',
};

export interface SettingsWorld {
  readonly user: ReturnType<typeof userWith>;
  readonly home: string;
  readonly setup: (...args: string[]) => Promise<CliResult>;
  /** The path of an editor's settings, after `content` was written there. */
  readonly fileOf: (editor: string, content?: string | Buffer) => string;
}

export function newSettingsWorld(): SettingsWorld {
  const user = userWith('');
  const home = user.env!.HOME!;
  const fileOf = (editor: string, content?: string | Buffer): string => {
    const file = join(home, settings[editor]!);
    if (content === undefined) return file;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
    return file;
  };
  return { user, home, setup: (...args) => runHere(['setup', ...args], user), fileOf };
}
