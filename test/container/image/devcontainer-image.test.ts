import { join } from 'node:path';
import type { ImageStore } from '../../../src/container/engine/image-store';
import { provideServiceImage } from '../../../src/container/image/devcontainer-image';
import type { ImageRequest } from '../../../src/container/image/image-request';
import { openProgress } from '../../../src/container/image/progress';
import { readDevcontainer } from '../../../src/workspace/devcontainer/devcontainer';
import { newFolder } from '../../support/temp-folder';
import { newRoot } from '../../workspace/devcontainer/files';

const file = '.devcontainer.json';
const root = newRoot({
  [file]: { dockerComposeFile: 'c.yml', service: 'app' },
  'c.yml': { services: { app: { image: 'a' }, cache: { image: 'b' }, db: { build: '.' } } },
  Dockerfile: 'FROM debian\n',
});
const content = readDevcontainer(root, join(root, file), {});
const [cache, db] = content.services.map(({ table }) => table.image as string);

/** What becomes of a service's image where the engine has these; it has no endpoint for a builder. */
async function provide(name: string, there: readonly string[], autoBuild = true) {
  const find = (tag: string) => Promise.resolve(there.includes(tag) ? { id: tag } : undefined);
  const request = {
    image: { autoBuild },
    stateFolder: newFolder(),
    devcontainer: { content, localEnv: {}, hostUser: { uid: 1, gid: 1 }, docker: undefined },
  } as unknown as ImageRequest;
  const progress = openProgress({ write: () => true }, true);
  return await provideServiceImage({ find } as unknown as ImageStore, request, name, progress);
}

describe('the image of a service of a development container', () => {
  test('is none where it is to be pulled', async () => {
    expect(await provide(cache!, [])).toBeUndefined();
  });

  test('is not built again where another process has built it meanwhile', async () => {
    expect(await provide(db!, [db!])).toEqual({ id: db });
  });

  test('is built where it is missing', async () => {
    await expect(provide(db!, [])).rejects.toThrow(
      'the service "db": the development container cannot be built, because',
    );
  });

  test('is not built where nothing is built by itself', async () => {
    await expect(provide(db!, [], false)).rejects.toThrow(
      `there is no image of the service "db", and "image.auto_build" is off: run: cai build --workspace "${root}"`,
    );
  });
});
