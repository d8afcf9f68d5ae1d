import { KubernetesImages } from '../../../../src/container/engine/kubernetes/kubernetes-images';
import { expectedError } from '../../../expected-error';

const id = `ghcr.io/team/containai@sha256:${'a1'.repeat(32)}`;
const image = { id, env: ['A=1'], labels: { a: 'b' } };
const find = jest.fn((ref: string) => Promise.resolve(ref.endsWith(':none') ? undefined : image));
const images = new KubernetesImages({ find });

describe('the images of a cluster', () => {
  test('are those of the registry, by their digests', async () => {
    expect(await images.find('ghcr.io/team/containai:claude')).toEqual({
      ...image,
      tags: ['ghcr.io/team/containai:claude'],
    });
    expect(await images.find(id)).toEqual({ ...image, tags: [] });
    expect(find).toHaveBeenCalledTimes(1);
    expect(await images.find('ghcr.io/team/containai:none')).toBeUndefined();
  });

  test('have to be there to be pulled', async () => {
    await images.pull(id);

    await expect(images.pull('x/y:none')).rejects.toMatchObject(
      expectedError('IMAGE', 'there is no image x/y:none in the registry'),
    );
  });

  test('are neither built nor pushed, and stay when they are not wanted', async () => {
    await expect(images.build()).rejects.toMatchObject(expectedError('IMAGE', 'builds no images'));
    await expect(images.push('x/y:1')).rejects.toMatchObject(
      expectedError('IMAGE', /x\/y:1.*pushes no images/),
    );
    await images.remove();
  });
});
