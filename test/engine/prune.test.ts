import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { imageLabel } from '../../src/container/image/image-tag';
import { recordedUse } from '../../src/workspace/records';
import { Place, buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace, ownFile } from './support';

const cai = new Cai();
/** Names the images of this test: no other test prunes. */
const leftover = `cai-test-leftover-${process.pid}`;

afterAll(async () => await docker('rmi', '--force', leftover));

const kinds = (list: string): string[] =>
  list
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/)[0]!);

async function volumes(): Promise<string[]> {
  return (await docker('volume', 'ls', '--quiet')).split('\n');
}

describe('cai prune', () => {
  test(
    'removes, if asked for, what was not used for so long, and does not run',
    async () => {
      const place = new Place(cai, newWorkspace());
      await place.opened();
      const state = join(cai.env.XDG_STATE_HOME!, 'containai');
      const name = (await place.inspect('{{.Name}}')).slice(1);
      expect(recordedUse(state, place.workspace)).toBeGreaterThan(Date.now() - 60 * 60 * 1_000);
      const [file] = readdirSync(join(state, 'used'));
      const record = { path: place.workspace, value: '2026-01-02T03:04:05.000Z' };
      ownFile(join(state, 'used', file!), JSON.stringify(record));
      const unused = async (...args: string[]): Promise<string> =>
        (await cai.run(['prune', ...args])).stdout.toString();

      expect(await unused('--unused', '30d', '--dry-run')).not.toContain(name);
      await docker('stop', name);
      expect(await unused('--dry-run')).not.toContain(name);
      expect(await unused('--unused', '10000d', '--dry-run')).not.toContain(name);

      const why = `${place.workspace} was last used on 2026-01-02`;
      const shown = await unused('--unused', '30d', '--yes');
      expect(shown).toMatch(new RegExp(`^container +${name} .*${why}$`, 'm'));
      expect(shown).toMatch(new RegExp(`^volume .*${why}: the data of claude$`, 'm'));
      expect(await unused('--unused', '30d', '--dry-run')).not.toContain(place.workspace);
    },
    buildTimeoutMs,
  );

  test(
    'removes the container and the data of a workspace whose folder is gone, and nothing of one that is there',
    async () => {
      const [gone, there] = [new Place(cai, newWorkspace()), new Place(cai, newWorkspace())];
      for (const place of [gone, there]) {
        await place.opened();
        await place.prints(['sh', '-c', 'echo kept > ~/.claude/kept']);
      }
      const name = (await gone.inspect('{{.Name}}')).slice(1);
      const mounts = '{{range .Mounts}}{{.Name}} {{end}}';
      const [volume] = (await gone.inspect(mounts)).split(' ').filter(Boolean);
      await docker('stop', name);
      rmSync(gone.workspace, { recursive: true });

      const shown = await cai.run(['prune', '--dry-run']);
      const refused = await cai.run(['prune']);
      expect(await volumes()).toContain(volume);
      const removed = await cai.run(['prune', '--yes']);

      for (const { status, stdout } of [shown, removed]) {
        expect(status).toBe(0);
        expect(stdout.toString()).toMatch(
          new RegExp(`^container +${name} .*${gone.workspace} is gone$`, 'm'),
        );
        expect(stdout.toString()).toMatch(new RegExp(`^volume +${volume!} .*the data of claude$`, 'm'));
        expect(stdout.toString()).not.toContain(there.workspace);
      }
      expect(refused).toMatchObject({
        status: 2,
        stderr: expect.stringMatching(/--yes.*--dry-run/) as string,
      });
      expect(removed.stderr).toMatch(/^cai: removed, which gives back /m);
      expect(await volumes()).not.toContain(volume);
      expect(await there.prints(['sh', '-c', 'cat ~/.claude/kept'])).toBe('kept');
    },
    2 * buildTimeoutMs,
  );

  test('leaves a container alone that runs, and its data, also where the folder is gone for now', async () => {
    const place = await new Place(cai, newWorkspace()).opened();
    const running = place.start(['sh', '-c', 'echo ready; cat']);
    await running.says('ready');
    const elsewhere = `${place.workspace}-moved`;
    renameSync(place.workspace, elsewhere);
    try {
      const { stdout } = await cai.run(['prune', '--dry-run']);

      expect(stdout.toString()).not.toContain(place.workspace);
    } finally {
      renameSync(elsewhere, place.workspace);
    }
    running.child.stdin.end();
    await running.succeeds();
  });

  test('finds what a build has left, of ours alone', async () => {
    const label = `${imageLabel.stage}=test`;
    const folder = newWorkspace();
    mkdirSync(folder, { recursive: true });
    const base = 'node:22-bookworm-slim';
    const made = await docker('create', base);
    await docker('commit', '--change', `LABEL ${label}`, made, leftover);
    const id = await docker('inspect', '--format', '{{.Id}}', leftover);
    // Its name goes to another image, which is not ours.
    await docker('commit', made, leftover);
    await docker('rm', made);

    const { stdout } = await cai.run(['prune', '--dry-run']);

    const list = stdout.toString();
    expect(list).toMatch(
      new RegExp(`^image +${id.slice('sha256:'.length, 19)} .*left over from a build$`, 'm'),
    );
    expect(list).not.toContain(leftover);
    expect(kinds(list)[0]).toBe('KIND');
    await docker('rmi', id);
  });
});

describe('cai ps --size', () => {
  test('tells what a container and its data take', async () => {
    const place = await new Place(cai, newWorkspace()).opened();
    const bytes = 3_000_000;
    await place.prints(['sh', '-c', `head -c ${bytes} /dev/urandom | tee ~/big > ~/.claude/big`]);

    const listed = JSON.parse((await cai.run(['ps', '--size', '--json'])).stdout.toString()) as {
      workspace: string;
      writtenBytes: number;
      dataBytes: number;
    }[];

    const row = listed.find(({ workspace }) => workspace === place.workspace)!;
    expect(row.writtenBytes).toBeGreaterThanOrEqual(bytes);
    expect(row.dataBytes).toBeGreaterThanOrEqual(bytes);
    expect((await cai.run(['ps', '--size'])).stdout.toString()).toMatch(/WRITTEN +DATA\n.* 3\.\d MB/s);
    expect((await cai.run(['ps'])).stdout.toString()).not.toMatch(/WRITTEN/);
  });
});
