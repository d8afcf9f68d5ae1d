import type { Engine } from '../../src/container/engine/engine';
import { ownContainers, ownVolumes, volumesUsed } from '../../src/container/user-containers';

const record = (...mounts: string[]): string => JSON.stringify({ mounts });
const labels = (more: Record<string, string> = {}): Record<string, string> => ({
  'containai.managed': 'true',
  'containai.user': '1000',
  'containai.agent': 'claude',
  'containai.workspace': '/w',
  'containai.spec': record('volume cai-data-claude-1000 /home/agent/.data rw'),
  ...more,
});

/** An engine that has these. */
function engineWith(each: Record<string, string>[]): Engine {
  const found = each.map((its, index) => ({ id: `${index}`, name: `c${index}`, state: 'running', labels: its, createdAt: 5 })); // prettier-ignore
  const listed = (): Promise<typeof found> => Promise.resolve(found);
  return { listContainers: listed, listVolumes: listed } as unknown as Engine;
}

describe('ownContainers', () => {
  test('tells what a container was made for', async () => {
    expect(await ownContainers(engineWith([labels()]), 1000)).toEqual([
      {
        id: '0',
        name: 'c0',
        workspace: '/w',
        agent: 'claude',
        state: 'running',
        createdAt: 5,
        dataVolume: 'cai-data-claude-1000',
        services: [],
        folderVolumes: [],
      },
    ]);
  });

  test('tells the copy of a workspace, and the volumes of folders', async () => {
    const folders = ['volume cai-w-3-own /w/a b rw', 'volume cai-w-4-own /w/c rw'];
    const spec = record('volume cai-w-1-copy /w rw', 'volume cai-w-2-data /home/agent/.data rw', ...folders);

    const [found] = await ownContainers(engineWith([labels({ 'containai.spec': spec })]), 1000);

    expect(found).toMatchObject({
      copyVolume: 'cai-w-1-copy',
      dataVolume: 'cai-w-2-data',
      folderVolumes: ['cai-w-3-own', 'cai-w-4-own'],
    });
    expect(volumesUsed(found!)).toEqual(['cai-w-2-data', 'cai-w-1-copy', 'cai-w-3-own', 'cai-w-4-own']);
  });

  test('sorts by workspace, those without one first, then by agent', async () => {
    const engine = engineWith([
      labels({ 'containai.workspace': '/b' }),
      labels({ 'containai.workspace': '/a', 'containai.agent': 'gemini' }),
      labels({ 'containai.workspace': '/a' }),
      labels({ 'containai.workspace': '' }),
    ]);

    const found = await ownContainers(engine, 1000);

    expect(found.map(({ workspace, agent }) => [workspace, agent])).toEqual([
      [undefined, 'claude'],
      ['/a', 'claude'],
      ['/a', 'gemini'],
      ['/b', 'claude'],
    ]);
  });

  test('asks for those of ours and of that user alone', async () => {
    const asked: unknown[] = [];
    const list = (wanted: unknown) => {
      asked.push(wanted);
      return Promise.resolve([]);
    };
    const engine = { listContainers: list, listVolumes: list } as unknown as Engine;
    await ownContainers(engine, 1000);
    await ownVolumes(engine, 1000);

    expect(asked).toEqual(Array(2).fill({ 'containai.managed': 'true', 'containai.user': '1000' }));
  });

  test.each([
    ['a folder that is named like one', record('bind /x"volume mine /home/agent/.data rw')],
    ['a folder in its place', record('bind /data /home/agent/.data rw')],
    ['a volume elsewhere', record('volume mine /home/agent/.data/x rw')],
    ['no mounts', '{}'],
    ['no record', ''],
  ])('takes no data volume from %s', async (_, spec) => {
    const [found] = await ownContainers(engineWith([labels({ 'containai.spec': spec })]), 1000);

    expect(found!.dataVolume).toBeUndefined();
  });
});

test('ownVolumes tells what each is of', async () => {
  const found = [
    { name: 'cai-data-claude-1000', labels: labels() },
    { name: 'cai-w-1-own', labels: labels() },
    { name: 'cai-w-2-copy', labels: labels() },
    { name: 'cai-w-3-db-data', labels: labels({ 'containai.service': 'db' }) },
    { name: 'cai-w-4-data', labels: labels() },
  ];
  const engine = { listVolumes: () => Promise.resolve(found) } as unknown as Engine;

  const kinds = (await ownVolumes(engine, 1000)).map(({ kind }) => kind);

  expect(kinds).toEqual(['agent', 'folder', 'copy', 'service', 'agent']);
});
