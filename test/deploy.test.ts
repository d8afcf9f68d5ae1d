import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { networkPolicies } from '../src/container/engine/kubernetes/network-policy';
import { neededRights } from '../src/container/engine/kubernetes/rights';
import { newFolder } from './support/temp-folder';

const folder = join(__dirname, '../deploy');
const unit = join(folder, 'cai-serve.service');

/** The objects in a file for Kubernetes. */
function objectsIn(file: string): readonly { readonly kind: string; readonly rules?: unknown }[] {
  return parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((each) => each.toJS() as never);
}

test('the unit is one that systemd takes', () => {
  const runtime = newFolder();
  chmodSync(runtime, 0o700);
  const env = { ...process.env, XDG_RUNTIME_DIR: runtime };
  const result = spawnSync('systemd-analyze', ['--user', 'verify', '--man=no', unit], { env });
  if (result.error !== undefined) {
    process.stderr.write(`the unit is not checked: ${result.error.message}\n`);
    return;
  }

  expect(result.stderr.toString()).toBe('');
  expect(result.status).toBe(0);
});

test('the unit starts the server', () => {
  expect(readFileSync(unit, 'utf8')).toMatch(/^ExecStart=\/usr\/bin\/env cai serve$/m);
});

test('the role in a cluster has exactly the rights that are asked for', () => {
  const role = objectsIn('base/rights.yaml').find(({ kind }) => kind === 'Role')!;

  expect(role.rules).toEqual(
    neededRights.map(({ group, resources, verbs }) => ({ apiGroups: [group], resources, verbs })),
  );
});

test('the network policies in a cluster are those that are made', () => {
  expect(objectsIn('base/network-policy.yaml')).toEqual(networkPolicies);
});
