import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../../src/container/engine/engine';
import { startWithinLimit } from '../../src/container/served-limit';
import { label } from '../../src/container/spec/labels';
import { Host } from '../../src/system/host';
import { processStat } from '../../src/system/process-identity';
import { recordName } from '../../src/system/state-folder';
import { newFolder } from '../support/temp-folder';

const most = 2;
let running: string[];
let host: Host;
let told: string[];
let onTold: () => void;

/** An engine in which a container runs for each of these workspaces. */
const engine = {
  listContainers: () =>
    Promise.resolve(
      running.map((workspace) => ({
        id: workspace,
        name: workspace,
        state: workspace === '/srv/shop/ended' ? 'exited' : 'running',
        createdAt: 0,
        labels: { [label.workspace]: workspace },
      })),
    ),
} as unknown as Engine;

const tell = (notice: string): void => {
  told.push(notice);
  onTold();
};

const start = async (workspace: string): Promise<void> =>
  await startWithinLimit(engine, { host, mostServed: most, tell }, () => {
    running.push(workspace);
    return Promise.resolve();
  });

beforeEach(() => {
  running = [];
  told = [];
  onTold = () => undefined;
  host = new Host({ HOME: newFolder(), CAI_SERVE_WORKSPACES: '["/srv/shop"]' });
});

test('no more containers start than may run in the folders, also at once', async () => {
  const starts = ['a', 'b', 'c', 'd'].map((name) => start(`/srv/shop/${name}`));

  const results = await Promise.allSettled(starts);

  expect(running).toHaveLength(most);
  const [refusal, ...others] = results.filter((each) => each.status === 'rejected');
  expect(others).toHaveLength(1);
  expect(refusal?.reason).toMatchObject({
    code: 'QUOTA',
    message: expect.stringMatching(/^2 containers run .* "cai stop"$/) as string,
  });
});

test('what has ended, or runs in other folders, does not count', async () => {
  running = ['/srv/shop/ended', '/srv/other', '/srv/shopping', ''];

  await start('/srv/shop/a');
  await start('/srv/shop/b');

  await expect(start('/srv/shop/c')).rejects.toThrow('2 containers run');
});

test('the owner has no limit', async () => {
  host = new Host({ HOME: newFolder() });

  for (const name of ['a', 'b', 'c']) await start(`/srv/shop/${name}`);

  expect(running).toHaveLength(3);
});

test('whoever waits for the start of another process is told', async () => {
  const folder = join(host.folders.state, 'starts');
  mkdirSync(folder, { recursive: true });
  const other = process.ppid;
  const name = `${recordName(JSON.stringify(host.workspaces))}.${other}.${processStat(other)?.startTicks ?? 0}.lock`;
  writeFileSync(join(folder, name), '');
  onTold = () => rmSync(join(folder, name));
  await start('/srv/shop/b');

  expect(told).toEqual([`waiting for process ${other}, which starts another container`]);
});
