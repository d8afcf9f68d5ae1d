import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { onTerminal } from '../../support/on-terminal';

const mock = resolve(__dirname, '../../../fixtures/mock-acp-server');
const config = `[agent]\ndefault = "mock"\n[agents.mock]\ncommand = ${JSON.stringify([process.execPath, mock, '--acp'])}\n`;

/** A user with a project, and with Zed and a JetBrains IDE. */
function newUser(env: NodeJS.ProcessEnv = {}) {
  const { cwd: home, ...rest } = userWith(config, env);
  for (const each of ['project', '.config/zed', '.jetbrains']) mkdirSync(join(home!, each));
  return {
    ...rest,
    cwd: join(home!, 'project'),
    zed: join(home!, '.config/zed/settings.json'),
    jetbrains: join(home!, '.jetbrains/acp.json'),
  };
}

test('sets up the editors that somebody has and wants, and has a first turn', async () => {
  const user = newUser();

  const shown = await onTerminal(['setup'], user, [
    [`the settings of Zed, ${user.zed}? [y/N]`, 'y\n'],
    [`the settings of JetBrains IDEs, ${user.jetbrains}? [y/N]`, '\n'],
    ['Have a first turn with mock here? [y/N]', 'y\n'],
    ['> ', 'say hello\n'],
    ['hello\r\n> ', '\u0004'],
  ]);

  expect(shown).not.toContain('VS Code');
  expect(readFileSync(user.zed, 'utf8')).toContain('"mock (cai)"');
  expect(existsSync(user.jetbrains)).toBe(false);
});

test('says what else can be done', async () => {
  const shown = await onTerminal(['setup'], newUser(), [
    ['Zed', '?\n'],
    ['Zed', 'n\n'],
    ['JetBrains', 'n\n'],
    ['first turn', 'n\n'],
  ]);

  expect(shown).toContain('\ny, yes: yes; n, no, Enter: no\n');
  expect(shown).toContain('for Neovim, "cai setup neovim --agent mock" prints what belongs into');
  expect(shown).toContain('or run "cai try mock"\n');
});

test('ends where there is no engine, and says what to do', async () => {
  const user = newUser({ CAI_ACP_DIRECT_SPAWN: '0', DOCKER_HOST: 'unix:///no/such/engine.sock' });

  const shown = await onTerminal(['setup'], user, []);

  expect(shown).toMatch(/^fail +engine +the engine at .* is not running.*: start it/m);
  expect(shown).toContain(
    'cai: mend what has failed, then run "cai setup" again; "cai try --mock" shows a turn without',
  );
  expect(shown).not.toContain('[y/N]');
});

test('needs an editor where nobody can be asked', async () => {
  expect(await runHere(['setup'], newUser())).toEqual({
    status: 2,
    stdout: '',
    stderr:
      'cai: name an editor: cai setup zed, vscode, vscode-insiders, code-oss, vscodium, cursor, windsurf, jetbrains or neovim\n',
  });
});
