/**
 * What a change has to pass: phases one after the other; in a phase, lanes beside each other; in a lane, steps one after
 * the other. `limitS` is about three times what a step takes on two idle processors.
 */
import { existsSync, realpathSync } from 'node:fs';

/** Kubernetes as `test/kubernetes/build.sh` leaves it, which takes minutes. */
const builtKubernetes = '../shared/kubernetes/dist';
const dist = existsSync(builtKubernetes)
  ? { CAI_TEST_K8S_DIST: process.env.CAI_TEST_K8S_DIST ?? realpathSync(builtKubernetes) }
  : {};

/** What every test file depends on, with itself and the pages that it names. */
const inputs = [
  ...['.ci', '.config', 'Dockerfile', 'bin', 'deploy', 'fixtures'],
  ...['package-lock.json', 'package.json', 'src', 'test', 'tsconfig.json'],
];
/** What tests of containers take from others. */
const helpers = ['agent', 'agents', 'container/copy', 'expected-error.ts', 'served/client', 'support'];
/** What those depend on: not the page of browsers, nor other tests. `test/gate-inputs.test.ts` follows their imports. */
export const ofContainers = [
  ...inputs.filter((each) => each !== 'test'),
  ...['engine', 'escape', 'kubernetes', ...helpers].map((name) => `test/${name}`),
  ':(exclude)src/served/page',
];
const ofConnections = ['acp/relay', 'rpc', 'served', 'system/streams'].map((name) => `src/${name}`);
/** The tests of what could depend on how containers are entered: they run both ways. */
const bothWays =
  'exec-end exec-streams exec-terminal engine/forward mount-swap ssh-access engine/network'.split(' ');
const isNightly = process.argv.includes('--nightly');
/** The attacks on the walls around a container run on pods, too; at night, all that apply to pods. */
const onPods = isNightly
  ? []
  : 'rights system-calls supervision neighbours hangs'.split(' ').map((name) => `escape/${name}`);
/** What every engine has to do alike: start, commands, mounts, limits, the walls, the network rule, stop and remove. */
const contract = 'engine/engine engine/docker posture exec-end mount-swap network-rule'.split(' ');
/** Of what can happen to a cluster, the ends of its front and of a node: all of it takes as long as a suite. */
const clusterFaults = isNightly ? [] : ['-t', '(API server|kubelet) is killed|nothing is left'];

/** A command of its own; `retry`: it is run again if it fails. */
const plain = (name, limitS, command, more = {}) => ({ name, limitS, command, ...more });
/**
 * A suite of jest. `filters`: which of its files, by a part of their names; `tests`: where they are, if they may be kept;
 * `stoppedBy`: the script whose `stop` ends what the suite itself starts, if it cannot.
 */
const suite = (name, limitS, command, tests, { filters = [], ...more } = {}) => ({
  ...{ name, limitS, command, filters, isSuite: true },
  ...(tests !== undefined && { inputs, tests: [tests] }),
  ...more,
});
/** A script with `start`, `env` and `stop`, for the later steps that name it in `needs`. */
const service = (name, limitS, script, more = {}) => ({ name, limitS, script, ...more });

const engine = ['node', 'test/engine/run.mjs'];
const cluster = ['node', 'test/kubernetes/run.mjs'];
const conformance = ['node', 'test/conformance/run.mjs'];
/**
 * Each test starts jest several times, and shows what only those who change the gate can break. The last option ends the
 * list of patterns: behind it come names of files.
 */
const ofGate = [
  ...['npx', 'jest', '--testPathIgnorePatterns=/node_modules/', '--testMatch=**/test/gate/**/*.test.ts'],
  '--verbose=false',
];
const onEngine = {
  needs: ['engine-start', 'machines-start'],
  hasReporters: true,
  inputs: ofContainers,
};
const onCluster = { needs: ['engine-start', 'cluster-start'], inputs: ofContainers };

/** @type {{ name: string, lanes: object[][] }[]} */
export const phases = [
  {
    name: 'install',
    lanes: [
      [plain('install', 600, ['npm', 'ci'])],
      [plain('programs', 300, ['node', 'test/programs.mjs'], { retry: true })],
    ],
  },
  {
    name: 'first word',
    lanes: [
      [
        plain('lint', 300, ['npm', 'run', '-s', 'lint']),
        plain('types', 150, ['npm', 'run', '-s', 'types']),
        suite('unit', 1_200, ['npm', 'test', '--'], undefined),
      ],
    ],
  },
  {
    name: 'slow',
    lanes: [
      [
        ...['http', 'connect'].map((way) =>
          plain(`conformance-${way}`, 500, [...conformance, '--brief', '--over', way], {
            inputs,
            retry: true,
          }),
        ),
        plain('faults', 400, [...conformance, '--faults'], {
          inputs,
          retry: true,
        }),
        suite('page', 300, ['node', 'test/browser/run.mjs'], 'test/browser'),
      ],
      [
        plain('demo', 60, ['npm', 'run', '-s', '--ignore-scripts', 'demo'], { retry: true }),
        suite('agents', 400, ['npm', 'run', '-s', '--ignore-scripts', 'test:agents', '--'], 'test/agents'),
        suite('gate', 200, ofGate, 'test/gate', { inputs: ['.ci', 'package-lock.json', 'test/support'] }),
        suite('package', 400, ['npm', 'run', '-s', '--ignore-scripts', 'test:package', '--'], 'test/package'),
        suite('cuts', 600, ['npx', 'jest'], 'test/served/server/cuts.test.ts', {
          filters: ['test/served/server/cuts.test.ts'],
          env: { CAI_CUTS: '1000' },
          // What a connection is made of; `unit` has 16 cuts whatever changes.
          inputs: [...inputs.filter((each) => each !== 'src'), ...ofConnections],
        }),
      ],
    ],
  },
  {
    name: 'machine',
    lanes: [
      [
        service('engine-start', 600, 'test/engine/machine.sh'),
        service('machines-start', 200, 'test/engine/machines.sh'),
        suite('podman', 400, ['test/engine/podman.sh', 'run'], 'test/engine', {
          filters: contract,
          hasReporters: true,
          stoppedBy: 'test/engine/podman.sh',
        }),
      ],
    ],
  },
  {
    name: 'containers',
    lanes: [
      [
        suite('engine', 2_400, engine, 'test/engine', onEngine),
        suite('way-in-exec', 400, engine, 'test/engine', {
          ...onEngine,
          filters: bothWays,
          env: { CAI_WAY_IN: 'exec' },
        }),
        suite('escape', 1_500, [...engine, '--escape'], 'test/escape', {
          ...onEngine,
          // The other lane has ended by then, and attacks wait more than they compute.
          env: { CAI_TEST_USER: 'cai-test cai-test-second cai-test-third' },
        }),
      ],
      [
        service('cluster-start', 900, 'test/kubernetes/machine.sh', { env: dist }),
        suite('kubernetes', 2_400, cluster, 'test/kubernetes', onCluster),
        suite('on-pods', 900, [...cluster, '--escape'], 'test/escape', {
          ...onCluster,
          filters: onPods,
        }),
        suite('cluster-alone', 900, [...cluster, '--alone'], 'test/kubernetes/alone', {
          ...onCluster,
          filters: ['network-wall', 'lost-node'],
        }),
        suite('cluster-faults', 900, [...cluster, '--alone', ...clusterFaults], 'test/kubernetes/alone', {
          ...onCluster,
          filters: ['cluster-faults'],
        }),
      ],
    ],
  },
  {
    name: 'last',
    // It kills the engine under whatever runs there.
    lanes: [
      [
        suite('killed-engine', 300, engine, 'test/engine/killed-engine.test.ts', {
          ...onEngine,
          filters: ['killed-engine'],
          isOneUser: true,
        }),
      ],
    ],
  },
];
