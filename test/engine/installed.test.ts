import { join } from 'node:path';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace, ownFile } from './support';

const cai = new Cai();
const workspace = newWorkspace();
const place = new Place(cai, workspace);

const file = (name: string, text: string): void => ownFile(join(workspace, name), text);

beforeAll(async () => {
  file('node/package.json', JSON.stringify({ name: 'node-tool', version: '1.0.0', bin: 'tool.js' }));
  file('node/tool.js', '#!/usr/bin/env node\nconsole.log("by npm");\n');
  file('python/setup.py', 'from setuptools import setup\nsetup(name="python-tool", version="1.0", scripts=["python-tool"])\n'); // prettier-ignore
  file('python/python-tool', '#!/usr/bin/env python3\nprint("by pip")\n');
  await place.opened();
}, buildTimeoutMs);

describe('programs that an agent installs, without root', () => {
  test('are found by their names, and outlast the container', async () => {
    await place.prints(['sh', '-c', 'npm install --global --silent "$(npm pack --silent ./node)"']);
    await place.prints(['pip3', 'install', '--quiet', '--no-index', '--no-build-isolation', './python']);
    expect(await place.prints(['sh', '-c', 'node-tool; python-tool'])).toBe('by npm\nby pip');

    await docker('rm', '--force', await place.inspect('{{.Id}}'));

    expect(await place.prints(['sh', '-c', 'node-tool; python-tool'])).toBe('by npm\nby pip');
  });

  test('take the place of no program of the image', async () => {
    const forged = ['claude-agent-acp', 'node', 'git'];
    const make = 'mkdir -p ~/.local/bin; for each in "$@"; do printf "#!/bin/sh\\necho forged\\n" > ~/.local/bin/$each; chmod +x ~/.local/bin/$each; done'; // prettier-ignore
    await place.prints(['sh', '-c', make, 'sh', ...forged]);

    const found = await place.prints([
      'sh',
      '-c',
      'for each in "$@"; do command -v $each; done',
      'sh',
      ...forged,
    ]);

    expect(found.split('\n')).toEqual([
      '/usr/local/lib/cai/agent/bin/claude-agent-acp',
      '/usr/local/bin/node',
      '/usr/bin/git',
    ]);
  });
});

describe('a project in Python', () => {
  test('has an environment of its own, in which its tests run', async () => {
    file('app/test_sum.py', 'import unittest\nclass Sum(unittest.TestCase):\n  def test_sum(self): self.assertEqual(1 + 1, 2)\n'); // prettier-ignore

    const { status, stderr } = await place.run([
      'sh',
      '-c',
      'python3 -m venv .venv && .venv/bin/python -m unittest discover -s app',
    ]);

    expect(stderr).toMatch(/Ran 1 test in .*\n\nOK\n$/s);
    expect(status).toBe(0);
  });
});

describe('a project in C', () => {
  test('is compiled', async () => {
    file('c/sum.c', '#include <assert.h>\nint main(void) { assert(1 + 1 == 2); return 0; }\n');

    expect((await place.run(['sh', '-c', 'make -s -C c sum && c/sum'])).status).toBe(0);
  });
});
