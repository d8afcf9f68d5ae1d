import { imageLabel } from '../../../src/container/image/image-tag';
import { label } from '../../../src/container/spec/labels';
import { fakeEngine } from '../../container/fake-engine';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';

const hash = '0123456789ab';
const base = `containai-environment:${hash}`;
const own = { [imageLabel.recipe]: 'x', [imageLabel.environment]: base };
const image = (letter: string, RepoTags: readonly string[], Labels: Record<string, string>) => ({
  ...{ Id: `sha256:${letter.repeat(64)}`, RepoTags, Labels },
  ...{ Size: 900_000_000, Created: 1_767_323_045 },
});
const images = [
  image('a', ['containai:claude', 'ghcr.io/team/containai:claude'], own),
  image('b', [`ghcr.io/team/containai:my-agent-${hash}`], { ...own, [imageLabel.repository]: '/srv/shop' }),
  image('c', [base], { [imageLabel.recipe]: 'x' }),
  image('d', ['<none>:<none>'], { [imageLabel.stage]: 'agent' }),
  image('e', ['built-on-ours:1'], own),
  image('f', ['node:22'], {}),
];

async function listed(listedImages: readonly object[], ...args: string[]) {
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': {
      body: ['a', 'a', 'f'].map((letter, index) => ({
        ...{ Id: `${index}`, Names: [`/cai-${index}`], State: 'exited', Created: 1 },
        Labels: {
          ...{ [label.managed]: 'true', [label.user]: String(process.getuid!()) },
          [label.spec]: JSON.stringify({ image: `sha256:${letter.repeat(64)}` }),
        },
      })),
    },
    'GET /images/json': { body: listedImages },
    'GET /system/df': {
      body: {
        Images: [
          { Id: `sha256:${'a'.repeat(64)}`, Size: 900_000_000, SharedSize: 700_000_000, Containers: 2 },
        ],
      },
    },
  });
  return await runHere(['images', ...args], userWith('', { DOCKER_HOST: address.endpoint }));
}

test('cai images lists ours, with what they take and serve', async () => {
  const { status, stdout } = await listed(images);

  expect(stdout.replaceAll(/\d+d$/gm, 'AGE').split('\n')).toEqual([
    'NAME                                             AGENT     BASE          SIZE    OWN     CONTAINERS  AGE',
    `${base}               -         -             900 MB  900 MB  0           AGE`,
    `containai:claude, ghcr.io/team/containai:claude  claude    ${hash}  900 MB  200 MB  2           AGE`,
    'dddddddddddd                                     -         -             900 MB  900 MB  0           AGE',
    `ghcr.io/team/containai:my-agent-${hash}     my-agent  ${hash}  900 MB  900 MB  0           AGE`,
    '',
  ]);
  expect(status).toBe(0);
});

test('cai images --json tells all of them', async () => {
  const { stdout } = await listed(images, '--json');

  expect((JSON.parse(stdout) as object[])[1]).toEqual({
    ...{ id: `sha256:${'a'.repeat(64)}`, names: ['containai:claude', 'ghcr.io/team/containai:claude'] },
    ...{ agents: ['claude'], workspace: null, base },
    ...{ bytes: 900_000_000, sharedBytes: 700_000_000, ownBytes: 200_000_000 },
    ...{ containers: ['cai-0', 'cai-1'], createdAt: '2026-01-02T03:04:05.000Z' },
    ageMs: expect.any(Number) as number,
  });
  expect((JSON.parse(stdout) as object[])[3]).toMatchObject({ agents: ['my-agent'], workspace: '/srv/shop' });
});

test('cai images says how to come by one', async () => {
  expect(await listed([])).toMatchObject({ status: 0, stderr: 'cai: no images: "cai build" makes one\n' });
});
