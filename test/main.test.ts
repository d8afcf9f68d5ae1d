import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { Host } from '../src/system/host';
import { writeToken } from '../src/agent/editor-token';
import { cai, runCli, userWith } from './support/cli';
import { runHere } from './support/cli-here';
import { newFolder } from './support/temp-folder';

describe('cai', () => {
  test.each(['frobnicate', '--frobnicate', '-x', ''])('does not know the command "%s"', async (command) => {
    const { status, stdout, stderr } = await runHere([command, 'more']);

    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toBe(`cai: "${command}" is not a command: see "cai --help"\n`);
  });

  test('says that the folder that it runs in is gone', () => {
    const { stderr } = spawnSync('sh', ['-c', 'rmdir "$PWD" && exec "$0" review', cai], { cwd: newFolder() });
    expect(String(stderr)).toBe('cai: the current folder is gone: go to another one\n');
  });

  test('without a build names the command that builds it', async () => {
    const folder = newFolder();
    const program = join(folder, 'bin/cai');
    mkdirSync(join(folder, 'bin'));
    copyFileSync(cai, program);
    chmodSync(program, 0o755);

    const { status, stdout, stderr } = await runCli(['--acp', 'claude'], { program });

    expect(status).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toBe(`cai: not built yet: run "npm run build" in ${folder}\n`);
  });

  test('that waits for what can never come has not succeeded', async () => {
    const folder = newFolder();
    const program = join(folder, 'bin/cai');
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'dist'));
    copyFileSync(cai, program);
    chmodSync(program, 0o755);
    const main = '(function (exports) { exports.main = () => new Promise(() => undefined); })';
    writeFileSync(join(folder, 'dist/main.js'), main);

    const { status, stderr } = await runCli(['ps'], { program });

    expect(status).toBe(1);
    expect(stderr).toMatch(/^cai: the command ended before it was done, .*: run it again, and report it\n$/);
  });

  test.each([
    ['that build', (text: string) => text, 'false false false '],
    [
      'another build',
      (text: string) => text.replace(/[0-9a-f]{12}\n/, '0123456789ab\n'),
      'undefined false false ',
    ],
  ])('is loaded with what V8 has compiled of the same build alone: %s', async (_, change, expected) => {
    const folder = newFolder();
    for (const name of ['bin', 'dist'])
      cpSync(join(dirname(cai), '..', name), join(folder, name), { recursive: true });
    const main = join(folder, 'dist/main.js');
    writeFileSync(main, change(readFileSync(main, 'utf8')));
    const program = join(folder, 'watched.cjs');
    const watch = `const vm = require('node:vm');
      vm.Script = class extends vm.Script {
        constructor(source, options) {
          super(source, options);
          process.stderr.write(this.cachedDataRejected + ' ');
        }
      };`;
    writeFileSync(program, `${watch} require('./bin/cai');`);

    const { stderr } = await runCli(['--acp', 'mock'], {
      program,
      ...userWith('[agents.mock]\ncommand = ["mock"]\n'),
    });

    expect(stderr).toBe(expected);
  });

  test('loads no part of Node for TLS or for packed bytes before one of its names is used', async () => {
    const program = join(newFolder(), 'watched.cjs');
    const look = "process.on('exit', () => process.stderr.write(process.moduleLoadList.join()));";
    writeFileSync(program, `${look} require(${JSON.stringify(cai)});`);

    const { stdout, stderr } = await runCli(['exec', '--help'], { program });

    expect(stdout).toContain('Runs a command');
    expect(stderr).not.toMatch(/NativeModule (?:tls|https|zlib)/);
  });

  describe('in each file that is built', () => {
    const dist = join(dirname(cai), '../dist');
    const built = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.js'),
    );
    // Lines are short, so that strings may go on in the next one.
    const textOf = (name: string): string => readFileSync(join(dist, name), 'utf8').replaceAll('\\\n', '');
    const builtWith = (pattern: RegExp): string[] => built.filter((name) => pattern.test(textOf(name)));

    test('has one class of errors, so that each bundle knows those of the others; only what is for other programs has its own', () => {
      expect(builtWith(/"CaiError"/).sort()).toEqual(['cursor/main.js', 'embed/index.js', 'main.js']);
    });

    test('has ASCII alone, as which it is read, and of which V8 keeps a byte for each character', () => {
      expect(builtWith(/[\u0080-\uffff]/)).toEqual([]);
    });
  });

  describe('with an empty entry, a dot, a relative folder and one of the project in PATH', () => {
    const folder = newFolder();
    const env = {
      HOME: newFolder(),
      DOCKER_HOST: 'unix:///nowhere/docker.sock',
      PATH: ['', '.', 'bin', join(folder, 'bin'), process.env.PATH].join(delimiter),
    };
    const order = { kind: 'command', agent: 'claude', argv: ['true'], env: [], workspace: folder } as const;
    const mark = join(folder, 'it ran');
    mkdirSync(join(folder, 'bin'));
    for (const name of ['git', 'stty', 'bin/git', 'bin/stty'])
      writeFileSync(join(folder, name), `#!/bin/sh\ntouch "${mark}"\n`, { mode: 0o755 });

    test.each([
      ['terminal', () => ['terminal', writeToken(new Host(env), order)]],
      ['exec', () => ['exec', 'true']],
      ['login', () => ['login', 'claude', '-w', '.']],
      ['doctor', () => ['doctor']],
      ['trust', () => ['trust']],
    ])('%s runs nothing that lies in the folder it was started in', async (_command, args) => {
      await runHere(args(), { env, cwd: folder });

      expect(existsSync(mark)).toBe(false);
    });
  });
});
