import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { git } from '../support/git';
import { newFolder } from '../support/temp-folder';

const gate = resolve('.ci/gate/main.mjs');
const runJest = ['node', resolve('node_modules/jest/bin/jest.js'), '--rootDir=.', '--testMatch=**/*.test.js'];

/** A repository with these files of jest, and these steps in one lane each. */
class Project {
  readonly folder = newFolder();
  readonly #state = newFolder();

  constructor(files: Readonly<Record<string, string>>, phases: readonly object[]) {
    const steps = {
      'steps.mjs': `export const phases = ${JSON.stringify(phases)};`,
      '.gitignore': 'mark\n',
      // Babel alone takes half a second.
      'package.json': '{ "jest": { "transform": {} } }',
    };
    for (const [name, text] of Object.entries({ ...files, ...steps })) this.write(name, text);
    git(this.folder, 'init', '--quiet');
    this.commit();
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), text);
  }

  commit(): void {
    git(this.folder, 'add', '--all');
    git(this.folder, 'commit', '--quiet', '-m', 'one');
  }

  /** Runs the gate; returns its lines and its exit status. */
  run(...args: string[]): { readonly lines: string[]; readonly status: number | null } {
    const { stdout, stderr, status } = spawnSync(process.execPath, [gate, ...args], {
      cwd: this.folder,
      env: { ...process.env, CAI_GATE_STATE: this.#state, CAI_GATE_STEPS: join(this.folder, 'steps.mjs') },
      encoding: 'utf8',
    });
    return { lines: `${stdout}${stderr}`.trimEnd().split('\n'), status };
  }
}

const phase = (...steps: object[]) => ({ name: 'phase', lanes: [steps] });
const suite = (more: object = {}) => ({
  ...{ name: 'suite', limitS: 600, command: runJest, filters: ['test'], isSuite: true },
  ...{ inputs: ['*.js'], tests: ['*.js'] },
  ...more,
});
const plain = (command: string, more: object = {}) => ({
  ...{ name: 'plain', limitS: 600, command: ['bash', '-c', command] },
  ...more,
});

const passes = `test('passes', () => undefined);`;
/** Passes from the second time on. */
const flaky = `test('is flaky', () => {
  const { existsSync, writeFileSync } = require('node:fs');
  const isThere = existsSync('mark');
  writeFileSync('mark', '');
  expect(isThere).toBe(true);
});`;

test('a file that was green is kept while all that it depends on is the same, unless all is asked for', () => {
  const page = `// docs/a-page.md\n${passes}`;
  const project = new Project({ 'a.test.js': page, 'b.test.js': passes }, [phase(suite())]);
  const afterChange = (name: string, text: string): string => {
    project.write(name, text);
    project.commit();
    return project.run().lines[0]!;
  };

  expect(project.run()).toMatchObject({ status: 0 });
  process.env.CAI_TEST_ENGINE = 'docker';
  expect(project.run().lines[0]).toBe('suite: kept (0 h): 2 passed, 0 failed');
  delete process.env.CAI_TEST_ENGINE;
  expect(project.run('--all').lines.join('\n')).not.toContain('kept');
  expect(afterChange('b.test.js', `${passes}\n`)).toBe('suite: kept (0 h): in part, 1 passed, 0 failed');
  for (const name of ['docs/a-page.md', 'a-page.md'])
    expect(afterChange(name, '')).toBe('suite: kept (0 h): in part, 1 passed, 0 failed');
  expect(afterChange('helper.js', '')).not.toContain('kept');
});

test('what fails is run again and told by name, and is not kept as what passes is', () => {
  const fails = `test('fails', () => expect(1).toBe(2));\n${passes}`;
  const project = new Project({ 'a.test.js': fails, 'b.test.js': passes }, [phase(suite())]);

  const [first, second] = [project.run(), project.run()];

  expect(second.lines[0]).toBe('suite: kept (0 h): in part, 1 passed, 0 failed');
  for (const { lines, status } of [first, second]) {
    expect(status).toBe(1);
    expect(lines).toContain('failed: a.test.js: fails');
    expect(lines.at(-1)).toBe('2 passed, 1 failed');
  }
});

test('a test that passes when it is run again is flaky; in a second run it fails', () => {
  const project = new Project({ 'a.test.js': flaky, 'b.test.js': passes }, [
    phase(plain('rm -f mark'), suite()),
  ]);

  const [once, twice] = [project.run(), project.run()];

  expect(once.lines).toContain('flaky: a.test.js: is flaky');
  expect([once.lines.at(-1), once.status]).toEqual(['2 passed, 0 failed', 0]);
  expect([twice.lines.at(-1), twice.status]).toEqual(['1 passed, 1 failed', 1]);
});

test('what does not come to its end when it is run again has failed, and is not flaky', () => {
  const ends = flaky.replace(
    'expect(isThere)',
    "if (isThere) process.kill(process.pid, 'SIGKILL');\n  expect(isThere)",
  );
  const project = new Project({ 'a.test.js': ends, 'b.test.js': passes }, [
    phase(plain('rm -f mark'), suite({ command: [...runJest, '--runInBand'] })),
  ]);

  const { lines, status } = project.run();

  expect(lines.join('\n')).not.toContain('flaky:');
  expect(lines).toContain('failed: a.test.js: is flaky');
  expect([lines.at(-1), status]).toEqual(['1 passed, 1 failed', 1]);
});

test('a step over its limit ends with all that it has started, and the others are told', () => {
  const project = new Project({ 'a.test.js': passes }, [
    phase(plain('sleep 1000 & echo "$!" >mark; echo said; wait', { limitS: 1 })),
    phase(suite()),
  ]);

  const { lines, status } = project.run();
  const sleeper = spawnSync('cat', ['mark'], { cwd: project.folder, encoding: 'utf8' }).stdout.trim();

  expect(lines).toContain('plain: 1 s: 0 passed, 1 failed (over 1 s)');
  expect(lines).toContain('  | said');
  expect([lines.at(-1), status]).toEqual(['1 passed, 1 failed', 1]);
  expect(existsSync(`/proc/${sleeper}/exe`)).toBe(false);
});

test('a suite that ends in the middle has told what it had found, and the rest of it has failed', () => {
  const ends = `test('ends jest', () => process.kill(process.pid, 'SIGKILL'));`;
  // Files that were never run are run by size, the largest first.
  const files = { 'a.test.js': `${passes}//${'x'.repeat(1000)}`, 'b.test.js': ends, 'c.test.js': passes };
  const project = new Project(files, [phase(suite({ command: [...runJest, '--runInBand'] }))]);

  const { lines, status } = project.run();

  expect(lines.join('\n')).toMatch(/^failed: b\.test\.js: the file\n {2}\| it has not ended: /m);
  expect(lines).toContain('failed: a file that did not begin');
  expect(lines.at(-1)).toBe('1 passed, 2 failed');
  expect(status).toBe(1);
});

test('a service is started for who needs it, tells of itself, and is ended when nobody needs it any more', () => {
  const script = `#!/bin/bash
case $1 in
  start) [[ -e mark ]] || { touch mark; exit 1; } ;;
  env) echo 'export TOLD=told' ;;
  stop) echo stop >>mark ;;
esac`;
  const service = { name: 'service', limitS: 600, script: './service.sh' };
  const needs = (told: string) => suite({ needs: ['service'], env: { WANTED: told } });
  const check = `test('is told', () => expect(process.env.TOLD).toBe(process.env.WANTED));`;
  const isEnded = plain('[[ $(<mark) == stop ]]', { name: 'after' });
  const project = new Project({ 'service.sh': script, 'a.test.js': check }, [
    phase(plain('chmod 755 service.sh'), service, needs('told')),
    phase(isEnded),
  ]);

  const { lines, status } = project.run();

  expect([lines.at(-1), status]).toEqual(['1 passed, 0 failed', 0]);
  expect(spawnSync('cat', ['mark'], { cwd: project.folder, encoding: 'utf8' }).stdout).toBe('stop\n');
});
