import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { newFolder } from '../support/temp-folder';

const root = resolve(__dirname, '../..');
let folder: string;

beforeEach(() => (folder = newFolder()));

/** The benchmark's list of measures, from a copy with these budgets. */
function listWith(budgets: unknown): { status: number | null; stdout: string; stderr: string } {
  cpSync(join(root, 'bench'), join(folder, 'bench'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'bench/budgets.json'), JSON.stringify(budgets));
  return spawnSync(process.execPath, [join(folder, 'bench/run.mjs'), '--list'], { encoding: 'utf8' });
}

const ours = JSON.parse(readFileSync(join(root, 'bench/budgets.json'), 'utf8')) as { metric: string }[];

describe('the benchmark', () => {
  test('has a measure for each of its budgets', () => {
    const { status, stdout, stderr } = listWith(ours);

    expect(ours.length).toBeGreaterThan(20);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toContain('throughput\n');
  });

  test.each([
    ['metric', { metric: 'round trip, p51' }, 'no measure takes "round trip, p51" of "cai"'],
    ['contender', { to: 'pip' }, 'no measure takes "round trip, p50" of "pip"'],
  ])('refuses a budget whose %s nothing measures', (_, change, message) => {
    const { status, stderr } = listWith([{ metric: 'round trip, p50', of: 'cai', to: 'pipe', ...change }]);

    expect({ status, stderr }).toEqual({ status: 2, stderr: `bench: budgets.json: ${message}\n` });
  });
});
