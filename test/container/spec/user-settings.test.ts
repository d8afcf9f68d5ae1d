import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configFileOf, loadConfig } from '../../../src/config/config';
import { userFiles, findUserSettings, sshLines } from '../../../src/container/spec/user-settings';
import { AgentFolders } from '../../../src/system/paths/agent-folders';
import { Host } from '../../../src/system/host';
import { newKey } from '../../support/ssh-world';
import { newFolder } from '../../support/temp-folder';

const home = newFolder();
const host = new Host({ HOME: home, PATH: process.env.PATH, XDG_STATE_HOME: join(home, 'state') });
const key = newKey(home, 'id');
const line = key.line.split(' ').slice(0, 2).join(' ');

beforeAll(() => {
  mkdirSync(join(home, '.ssh'));
  writeFileSync(join(home, '.ssh/known_hosts'), `git.example ${key.line}\n`);
  writeFileSync(join(home, '.gitconfig'), '[user]\nsigningkey = ~/id.pub\n[gpg]\nformat = ssh\n');
  mkdirSync(join(home, '.claude'));
  writeFileSync(join(home, '.claude/CLAUDE.md'), 'mine');
});

function found(config: string, agent = 'claude') {
  mkdirSync(join(configFileOf(host), '..'), { recursive: true });
  writeFileSync(configFileOf(host), config);
  const { state } = host.folders;
  return findUserSettings({ config: loadConfig(host), agent, host }, new AgentFolders(state));
}

test('nothing is looked for that the configuration does not name', async () => {
  expect(await found('')).toBeUndefined();
  expect(await found('[agents.claude]\nsettings = ["CLAUDE.md"]\n', 'gemini')).toBeUndefined();
});

test('what is named is found, and a host that ssh does not know is told', async () => {
  const config =
    '[agents.claude]\nsettings = ["CLAUDE.md"]\n[git]\nssh_agent = ["git.example", "new.example"]\nsign = true\n';

  const { settings, notices } = (await found(config))!;

  expect(settings).toEqual({
    shown: [{ path: '.claude/CLAUDE.md', text: 'mine', isProgram: false }],
    links: ['.claude/CLAUDE.md'],
    knownHosts: `git.example ${line}\n`,
    signingKey: line,
  });
  expect(notices).toEqual([expect.stringMatching(/^git.ssh_agent names new.example, .*connect there once/)]);
});

test('an agent that is told other settings for the whole container keeps those that it needs', async () => {
  const { agentSettings } = (await found('[git]\nssh_agent = ["git.example"]\n', 'codex'))!;

  expect(agentSettings?.text).toContain('default_permissions = "container"');
});

describe('the files', () => {
  const shown = [
    { path: '.claude/skills/one/run.sh', text: '#!', isProgram: true },
    { path: '.claude/CLAUDE.md', text: 'mine', isProgram: false },
  ];
  const folders = { home: '/home/agent', data: '/home/agent/.data' };

  test('are all of root, each after its folder', () => {
    const files = userFiles(
      { shown, links: ['.claude/skills', '.claude/CLAUDE.md'], knownHosts: 'x\n' },
      folders,
    );

    expect(files.every(({ uid, gid, mode }) => uid === 0 && gid === 0 && (mode & 0o022) === 0)).toBe(true);
    expect(files.map(({ path, mode }) => `${path} ${mode.toString(8)}`)).toEqual([
      '/run/cai/settings 755',
      '/run/cai/settings/.claude 755',
      '/run/cai/settings/.claude/skills 755',
      '/run/cai/settings/.claude/skills/one 755',
      '/run/cai/settings/.claude/skills/one/run.sh 755',
      '/run/cai/settings/.claude/CLAUDE.md 644',
      '/run/cai/links 644',
      '/run/cai/known_hosts 644',
    ]);
    const text = '/home/agent/.data\0/home/agent\0.claude/skills\0.claude/CLAUDE.md\0';
    expect(files.at(-2)!.is).toEqual({ file: text });
  });

  test('say also that nothing is to be linked', () => {
    const files = userFiles({ shown: [], links: [], knownHosts: '' }, folders);

    expect(files.map(({ path, is }) => [path, is])).toEqual([
      ['/run/cai/links', { file: '/home/agent/.data\0/home/agent\0' }],
    ]);
  });

  test('of ssh name the servers that are known, where there are some', () => {
    expect(sshLines({ knownHosts: 'x\n' })).toContain('GlobalKnownHostsFile /run/cai/known_hosts');
    expect(sshLines({ knownHosts: '' })).toBe('');
  });
});
