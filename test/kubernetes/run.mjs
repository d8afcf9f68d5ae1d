/*
 * `npm run test:kubernetes`: the tests of this folder, and some of what every engine has to pass, on the cluster of
 * `machine.sh env`. The first argument can name others instead: `--alone`, those in `alone/`, which kill parts of the
 * cluster or change its network, under whatever else runs there; `--escape`, the attacks in `test/escape` that apply to
 * pods. The other arguments are jest's. Exit status 2 if there is no cluster; `machine.sh start` provides one. Twice as many
 * test files run at a time as `CAI_TEST_USER` names users, but for `--alone`: each has a namespace, and mostly waits for pods.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const answerTimeout = '--request-timeout=5s';
/** Files of attacks none of which applies to pods, and why. Where it is one attack of a file, the file says so. */
const inapplicable = {
  connect: 'it needs no container, and "npm run test:escape" runs it',
  copies: 'it needs no container, and "npm run test:escape" runs it',
  door: 'it is about the server, and network.test.ts has agents in pods try to reach one',
  'door-page': 'it needs no container, and "npm run test:escape" runs it',
  open: 'it is about what is open with Docker, and attacks nothing',
  'own-sshd': 'the way into a pod is no socket in a folder that the agent has',
  services: 'cai runs no services in a cluster yet',
  worktrees: 'they lie in the state folder here, which pods cannot mount',
  'way-in': 'the way into a pod is neither a socket in a folder nor a command that the engine starts',
};

/** Why no test can run; undefined: all can. `CAI_TEST_K8S` is asked for because tests kill parts of the cluster. */
function findDefect() {
  if (process.env.CAI_TEST_K8S !== '1') return 'CAI_TEST_K8S is not set, which names a cluster for tests';
  const kubectl = process.env.CAI_TEST_K8S_KUBECTL ?? 'kubectl';
  const { error, status, stderr } = spawnSync(kubectl, ['get', '--raw', '/readyz', answerTimeout], {
    encoding: 'utf8',
  });
  if (error !== undefined) return `kubectl cannot be run: ${error.message}`;
  return status === 0 ? undefined : `no cluster answers: ${stderr.trim()}`;
}

const suites = {
  '--alone': ['kubernetes/alone/*'],
  '--escape': ['escape/**/*'],
};
const usual = ['kubernetes/*', 'engine/engine', 'engine/recovery', 'engine/terminals'];

const defect = findDefect();
if (defect === undefined) {
  const jest = join(import.meta.dirname, '../../node_modules/jest/bin/jest.js');
  const [, , suite] = process.argv;
  const files = suites[suite] ?? usual;
  const leftOut = suite === '--escape' ? Object.entries(inapplicable) : [];
  for (const [name, reason] of leftOut) console.log(`skipped: test/escape/${name}.test.ts: ${reason}`);
  const own = [
    '--testPathIgnorePatterns=/node_modules/',
    ...leftOut.map(([name]) => `--testPathIgnorePatterns=/escape/${name}\\.test\\.ts`),
    ...files.map((each) => `--testMatch=**/test/${each}.test.ts`),
  ];
  const users = (process.env.CAI_TEST_USER ?? '').split(' ').filter((name) => name !== '');
  const all = suite === '--alone' ? users.slice(0, 1) : [...users, ...users];
  const options = ['--verbose', `--maxWorkers=${all.length}`];
  const jestArgs = process.argv.slice(suite in suites ? 3 : 2);
  // What the test files of this run tell each other, and those of all runs to which somebody gives the same folder.
  const given = process.env.CAI_TEST_RUN;
  const run = given ?? mkdtempSync(join(tmpdir(), 'cai-cluster-run-'));
  const { status } = spawnSync(process.execPath, [jest, ...own, ...options, ...jestArgs], {
    stdio: 'inherit',
    env: { ...process.env, CAI_TEST_ENGINE: 'kubernetes', CAI_TEST_RUN: run, CAI_TEST_USER: all.join(' ') },
  });
  if (given === undefined) rmSync(run, { recursive: true });
  process.exitCode = status ?? 1;
} else {
  const steps = 'test/kubernetes/machine.sh start && eval "$(test/kubernetes/machine.sh env)"';
  process.stderr.write(`test:kubernetes: ${defect}; as root, run: ${steps}\n`);
  process.exitCode = 2;
}
