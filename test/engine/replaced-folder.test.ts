/** Project folders that are moved, replaced or made anew while a container has them. */
import { renameSync } from 'node:fs';
import { Place, buildTimeoutMs } from './place';
import { Cai, newWorkspace, ownFile, ownFolder } from './support';

const cai = new Cai();

beforeAll(async () => await new Place(cai).opened(), buildTimeoutMs);

/** A place whose workspace says which folder it is. */
async function placeWith(text: string): Promise<Place> {
  const place = new Place(cai);
  ownFile(`${place.workspace}/which`, text);
  await place.opened();
  return place;
}

/** `mv proj proj-old; mkdir proj`. */
function replace({ workspace }: Place): void {
  renameSync(workspace, `${workspace}-old`);
  ownFolder(workspace);
  ownFile(`${workspace}/which`, 'new');
}

interface Check {
  readonly name: string;
  readonly status: string;
  readonly detail?: string;
  readonly remedy?: string;
}

async function examined(place: Place): Promise<Check> {
  const { stdout } = await cai.run(['doctor', '--json', '--workspace', place.workspace]);
  const { checks } = JSON.parse(stdout.toString()) as { checks: Check[] };
  return checks.find(({ name }) => name === 'container')!;
}

describe('a workspace that was replaced by another folder', () => {
  test('is what the next command gets, in a container made anew, if nothing runs in the old one', async () => {
    const place = await placeWith('old');
    const before = await place.inspect('{{.Id}}');
    replace(place);
    expect(await examined(place)).toMatchObject({ status: 'warn', detail: expect.stringContaining('has another folder') as string }); // prettier-ignore

    const { status, stdout, stderr } = await cai.run(['exec', '--workspace', place.workspace, '--', 'cat', 'which']); // prettier-ignore

    expect([status, stdout.toString()]).toEqual([0, 'new']);
    expect(stderr).toContain('is another folder now than the one that it has');
    expect(await place.inspect('{{.Id}}')).not.toBe(before);
    expect(await examined(place)).toMatchObject({ status: 'ok' });
  });

  test('also after its removal, and while the container is stopped', async () => {
    const place = await placeWith('old');
    await cai.run(['stop', '--workspace', place.workspace]);
    replace(place);

    expect(await place.prints(['cat', 'which'])).toBe('new');
  });

  test('is refused to commands while others work in the old one, until those are ended', async () => {
    const place = await placeWith('old');
    const busy = place.start(['sh', '-c', 'echo ready; cat']);
    await busy.says('ready');
    replace(place);

    const refused = await place.run(['cat', 'which']);

    expect([refused.status, refused.stdout.toString()]).toEqual([11, '']);
    expect(refused.stderr).toMatch(/^cai: ".*" was moved or replaced since the container \S+ was made, and commands still run in the old folder: end them with: cai stop --force --workspace/); // prettier-ignore
    expect(await examined(place)).toMatchObject({ status: 'fail', remedy: expect.stringContaining('cai stop --force') as string }); // prettier-ignore
    await cai.run(['stop', '--force', '--workspace', place.workspace]);
    await busy.ends();
    expect(await place.prints(['cat', 'which'])).toBe('new');
  });

  test('is no other one because it was moved away and back', async () => {
    const place = await placeWith('old');
    const before = await place.inspect('{{.Id}}');
    renameSync(place.workspace, `${place.workspace}-away`);
    renameSync(`${place.workspace}-away`, place.workspace);

    expect(await place.prints(['cat', 'which'])).toBe('old');
    expect(await place.inspect('{{.Id}}')).toBe(before);
  });
});

describe('a mounted folder', () => {
  test('that was replaced is mounted anew, and a mounted file that was saved is no reason', async () => {
    const [folder, own] = [newWorkspace(), new Cai()];
    ownFile(`${folder}/which`, 'old');
    ownFile(`${own.home}/settings`, 'old');
    own.configure(
      `[[mounts]]\npath = "${folder}"\n[[mounts]]\npath = "${own.home}/settings"\nread_only = true\n`,
    );
    const place = await new Place(own).opened();
    const before = await place.inspect('{{.Id}}');
    ownFile(`${own.home}/settings-new`, 'new');
    renameSync(`${own.home}/settings-new`, `${own.home}/settings`);

    expect(await place.prints(['cat', `${folder}/which`])).toBe('old');
    expect(await place.inspect('{{.Id}}')).toBe(before);
    renameSync(folder, `${folder}-old`);
    ownFolder(folder);
    ownFile(`${folder}/which`, 'new');
    expect(await place.prints(['cat', `${folder}/which`])).toBe('new');
    expect(await place.inspect('{{.Id}}')).not.toBe(before);
  });
});

describe('cai exec for a caller that has decided about a folder', () => {
  test('mounts that folder and no other', async () => {
    const place = new Place(cai);

    const refused = await place.run(['true'], { options: ['--root-identity', '1:1'] });

    expect(refused).toMatchObject({ status: 11, stderr: expect.stringContaining('is no longer the folder') as string }); // prettier-ignore
    expect(await place.containers()).toEqual([]);
  });
});
