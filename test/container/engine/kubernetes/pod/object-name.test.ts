import { nameOfObject, objectName } from '../../../../../src/container/engine/kubernetes/pod/object-name';

test.each([
  ['cai-app-1', 'cai-app-1'],
  ['cai-my_app.x-1', 'cai-my-x5fapp-x2ex-1'],
  ['cai-a-xb--x', 'cai-a-x2dxb--x2dx'],
])('%s is an object of Kubernetes, and is found by it', (name, object) => {
  expect(objectName(name)).toBe(object);
  expect(object).toMatch(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/);
  expect(nameOfObject(object)).toBe(name);
});
