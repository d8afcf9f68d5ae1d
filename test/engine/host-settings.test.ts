/** The user's own settings in a container: `agents.NAME.settings`. */
import { chmodSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { Cai, ownFile } from './support';

const config = (names: readonly string[]) => `[agents.claude]\nsettings = ${JSON.stringify(names)}\n`;

let place: Place;
let cai: Cai;

function write(path: string, text: string): string {
  const file = join(cai.home, path);
  ownFile(file, text);
  return file;
}

beforeAll(async () => {
  cai = new Cai();
  write('.claude/CLAUDE.md', 'my instructions');
  write('.claude/settings.json', '{"model":"opus","apiKeyHelper":"/bin/x"}');
  write('.claude/skills/one/SKILL.md', 'my skill');
  chmodSync(write('.claude/skills/one/run.sh', '#!/bin/sh\necho runs\n'), 0o755);
  cai.configure(config(['CLAUDE.md', 'skills', 'settings.json']));
  place = await new Place(cai).opened();
}, buildTimeoutMs);

const sh = (script: string) => place.prints(['sh', '-c', script]);

test('what is named is there, below the home folder and in its own form', async () => {
  expect(await sh('cat ~/.claude/CLAUDE.md')).toBe('my instructions');
  expect(await sh('cat ~/.claude/skills/one/SKILL.md && ~/.claude/skills/one/run.sh')).toBe('my skillruns');
  expect(JSON.parse(await sh('cat ~/.claude/settings.json'))).toEqual({ model: 'opus' });
});

test('nobody in the container can write it', async () => {
  const { status, stderr } = await place.run(['sh', '-c', 'echo evil >> ~/.claude/CLAUDE.md']);

  expect([status, stderr]).toEqual([2, expect.stringMatching(/Permission denied/)]);
  expect(await sh('stat -L -c %u:%a ~/.claude/CLAUDE.md ~/.claude/skills ~/.claude/skills/one/run.sh')).toBe(
    '0:644\n0:755\n0:755',
  );
});

test('what the agent had there comes back with a container that has not that setting', async () => {
  await sh('rm ~/.claude/CLAUDE.md && echo of the agent > ~/.claude/CLAUDE.md');
  const [before] = await place.containers();

  write('.claude/CLAUDE.md', 'changed');
  expect(await sh('cat ~/.claude/CLAUDE.md')).toBe('changed');
  const [after] = await place.containers();
  expect(after).not.toBe(before);

  cai.configure(config(['skills']));
  expect(
    await sh('cat ~/.claude/CLAUDE.md; ls ~/.claude/settings.json 2>&1; cat ~/.claude/skills/one/SKILL.md'),
  ).toBe(
    "of the agent\nls: cannot access '/home/agent/.claude/settings.json': No such file or directory\nmy skill",
  );
});

test('a container is made again for a changed setting only when nothing runs in it', async () => {
  cai.configure(config(['CLAUDE.md']));
  const running = place.start(['sh', '-c', 'echo ready; cat']);
  await running.says('ready');
  const [before] = await place.containers();
  write('.claude/CLAUDE.md', 'changed again');

  const during = await cai.run([
    'exec',
    '--workspace',
    place.workspace,
    '--',
    'cat',
    '/home/agent/.claude/CLAUDE.md',
  ]);
  running.child.stdin.end();
  await running.ends();

  expect(during.stdout.toString()).toBe('changed');
  expect(during.stderr).toContain('the configuration or the image has changed');
  expect((await place.containers())[0]).toBe(before);
  expect(await sh('cat ~/.claude/CLAUDE.md')).toBe('changed again');
});

test('a repository cannot name settings', async () => {
  const file = join(place.workspace, '.containai/config.toml');
  ownFile(
    file,
    '[agents.claude]\nsettings = ["settings.json"]\n[git]\nssh_agent = ["evil.example"]\nsign = true\n',
  );

  const { stderr, stdout } = await cai.run(['exec', '--workspace', place.workspace, '--', 'sh', '-c', 'ls ~/.claude; echo "[$SSH_AUTH_SOCK]"']); // prettier-ignore
  rmSync(file);

  expect(stderr).toContain('3 keys are ignored');
  expect(stdout.toString()).not.toContain('settings.json');
  expect(stdout.toString()).toContain('[]');
});
