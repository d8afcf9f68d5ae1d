import { quota, rights, wall } from '../../../src/commands/doctor/cluster';
import type { Facts, Finding } from '../../../src/commands/doctor/checks';
import { NoWall, type Allowances, type ContainerPlan } from '../../../src/container/engine/engine';
import { CaiError } from '../../../src/errors';

/** What a played engine was asked for. */
let plans: ContainerPlan[];
let removed: string[];
beforeEach(() => {
  [plans, removed] = [[], []];
});

/** Of an engine that is not ours alone, where the start of a container ends like this. */
function facts(
  allowances?: Partial<Allowances>,
  failure?: Error,
  egress = 'ask',
  allowsOwnNode = false,
): Facts {
  const client = {
    allowances,
    createContainer: (_: string, plan: ContainerPlan) => Promise.resolve(`id-${plans.push(plan)}`),
    startContainer: () => (failure === undefined ? Promise.resolve() : Promise.reject(failure)),
    removeContainer: (id: string) => Promise.resolve(void removed.push(id)),
  };
  const settings = { agent: 'claude', hostUser: { uid: 1234, gid: 1235 } };
  return {
    engine: { client, about: { isRootless: false, seccomp: 'default' } },
    configured: { settings, config: { network: { egress }, kubernetes: { allowsOwnNode } } },
    image: { id: 'image' },
  } as unknown as Facts;
}

test('an engine that is ours alone is asked nothing', async () => {
  expect([await rights(facts()), await quota(facts()), await wall(facts())]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(plans).toEqual([]);
});

const watch = { right: '"watch" on pods', without: 'nothing goes', isOptional: false };
const create = { right: '"create" on pods', without: 'nothing goes', isOptional: false };
const policies = { right: '"list" on policies', without: 'somebody else does it', isOptional: true };

test.each<[string, Finding, readonly (typeof watch)[]]>([
  ['none', { status: 'ok', detail: 'you have all that containers need' }, []],
  [
    'one that is needed',
    {
      status: 'fail',
      detail:
        'you lack "watch" on pods, "create" on pods: nothing goes; you lack "list" on policies: somebody else does it',
      remedy: 'ask whoever runs the cluster for the role in deploy/base/rights.yaml',
    },
    [watch, create, policies],
  ],
  ['one that is not', expect.objectContaining({ status: 'warn' }) as Finding, [policies]],
])('of the rights that are lacking is told: %s', async (_, finding, missing) => {
  expect(await rights(facts({ missingRights: () => Promise.resolve(missing) }))).toEqual(finding);
});

test('what all may use is told, and warned of where nothing is left', async () => {
  const pods = { what: 'pods', used: '3', limit: '4', isUsedUp: false };
  const memory = { what: 'requests.memory', used: '1Gi', limit: '1Gi', isUsedUp: true };
  const told = (...uses: (typeof pods)[]) => quota(facts({ quotas: () => Promise.resolve(uses) }));

  expect(await told()).toBeUndefined();
  expect(await told(pods)).toEqual({ status: 'ok', detail: 'pods: 3 of 4' });
  expect(await told(pods, memory)).toMatchObject({
    status: 'warn',
    detail: 'pods: 3 of 4, requests.memory: 1Gi of 1Gi',
    remedy: expect.stringContaining('raise the ResourceQuota') as string,
  });
});

describe('the wall', () => {
  test('is tried by a container that may do nothing, and does not stay', async () => {
    expect(await wall(facts({}))).toMatchObject({ status: 'ok' });
    expect(plans).toEqual([
      expect.objectContaining({
        image: 'image',
        user: '1234:1235',
        command: ['/bin/true'],
        mounts: [],
        rights: expect.objectContaining({
          hasNetwork: false,
          capabilities: [],
          seccomp: 'default',
        }) as unknown,
      }),
    ]);
    expect(plans[0]!.labels).toMatchObject({ 'containai.managed': 'true', 'containai.user': '1234' });
    expect(removed).toEqual(['id-1']);
  });

  test('is said to be without what the user has excepted', async () => {
    expect(await wall(facts({}, undefined, 'ask', true))).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(
        /reached nothing, but for its own node.*allow_own_node = true$/,
      ) as string,
    });
  });

  test('fails where there is none', async () => {
    await expect(wall(facts({}, new NoWall('it got through')))).rejects.toThrow('it got through');
    expect(removed).toEqual(['id-1']);
  });

  test('is said not to be known where the container does not start', async () => {
    const failure = new CaiError('CONTAINER_START', 'ErrImagePull');

    expect(await wall(facts({}, failure))).toMatchObject({
      status: 'warn',
      detail: 'this could not be tried: ErrImagePull',
    });
    expect(removed).toEqual(['id-1']);
  });

  test('is not tried where containers are to have a network', async () => {
    expect(await wall(facts({}, undefined, 'open'))).toMatchObject({
      status: 'ok',
      detail: expect.stringContaining('not tried') as string,
    });
    expect(plans).toEqual([]);
  });
});
