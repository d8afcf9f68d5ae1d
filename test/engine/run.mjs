/*
 * `npm run test:engine`: the tests of this folder, on the engine that `DOCKER_HOST` names or the one of this
 * machine; with `--escape` as the first argument, as `npm run test:escape` has it, the attacks in `test/escape`
 * instead. The other arguments are jest's. Exit status 2 if there is no engine, or nobody to run `cai` as;
 * `machine.sh` provides both. As many test files run at a time as `CAI_TEST_USER` names users: each has the
 * containers of its user to itself, and the test that kills the engine is left out.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

const answerTimeoutMs = 5_000;

/** Where the engine is, as `http.request` takes it. */
function addressOf(host) {
  const { protocol, hostname, port, pathname } = new URL(host);
  return protocol === 'unix:' ? { socketPath: pathname } : { hostname, port };
}

/** Which engine answers, or why none can be used. Source: Docker Engine API, SystemPing; podman, PingGet. */
async function ping(host) {
  // Only Docker's own client knows the way there.
  if (host.startsWith('ssh:') || process.env.DOCKER_TLS_VERIFY) {
    const { status, stderr } = spawnSync('docker', ['--host', host, 'version'], { encoding: 'utf8' });
    return status === 0 ? { engine: 'docker' } : { defect: stderr };
  }
  try {
    const asked = request({ ...addressOf(host), path: '/_ping' }).end();
    asked.setTimeout(answerTimeoutMs, () => asked.destroy(new Error('no answer in time')));
    const [answer] = await once(asked, 'response');
    answer.resume();
    if (answer.statusCode !== 200) return { defect: `status ${answer.statusCode}` };
    return { engine: answer.headers['libpod-api-version'] === undefined ? 'docker' : 'podman' };
  } catch (error) {
    return { defect: error.message };
  }
}

/**
 * Why the tests cannot run `cai`; undefined: they can. The user has to be named also where it can only be
 * one, because the containers and data volumes of that user are removed afterwards.
 */
function refusalOf(users) {
  const self = userInfo().username;
  if (users.length > 0 && (self === 'root' || users.join() === self)) return undefined;
  const who = self === 'root' ? 'the user' : `yourself, ${self},`;
  return `CAI_TEST_USER has to name ${who} to run cai as, whose containers and volumes are then removed`;
}

const isEscape = process.argv[2] === '--escape';
const suite = isEscape ? 'escape' : 'engine';
const jestArgs = process.argv.slice(isEscape ? 3 : 2);
const host = process.env.DOCKER_HOST ?? 'unix:///var/run/docker.sock';
const { engine, defect } = await ping(host);
const users = (process.env.CAI_TEST_USER ?? '').split(' ').filter((name) => name !== '');
const refusal = defect ? `no engine answers on ${host}: ${defect}` : refusalOf(users);
if (refusal === undefined) {
  const jest = join(import.meta.dirname, '../../node_modules/jest/bin/jest.js');
  const own = ['--testPathIgnorePatterns=/node_modules/', `--testMatch=**/test/${suite}/**/*.test.ts`];
  const reporters = ['default', join(import.meta.dirname, 'renewing.mjs')].map(
    (each) => `--reporters=${each}`,
  );
  // It kills the engine, under whatever else runs on it.
  const alone = users.length > 1 ? ['--testPathIgnorePatterns=killed-engine'] : [];
  // A path after --reporters would be another one.
  const options = [...reporters, ...alone, '--verbose', `--maxWorkers=${users.length}`];
  // What the test files of this run tell each other.
  const run = mkdtempSync(join(tmpdir(), 'cai-engine-run-'));
  const { status } = spawnSync(process.execPath, [jest, ...own, ...options, ...jestArgs], {
    stdio: 'inherit',
    // What differs between engines is in engines.ts.
    env: { ...process.env, CAI_TEST_ENGINE: engine, CAI_TEST_RUN: run },
  });
  rmSync(run, { recursive: true });
  process.exitCode = status ?? 1;
} else {
  process.stderr.write(`test:${suite}: ${refusal}; see test/engine/machine.sh\n`);
  process.exitCode = 2;
}
