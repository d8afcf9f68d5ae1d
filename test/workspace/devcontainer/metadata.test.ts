import { metadataOf, variablesOf } from '../../../src/workspace/devcontainer/metadata';

const label = JSON.stringify([
  { remoteUser: 'base', containerEnv: { A: '1', B: '${containerEnv:PATH}' }, forwardPorts: [80] },
  { id: './own', onCreateCommand: 'one', postStartCommand: ['p', 'x y'] },
  {
    containerUser: 'own',
    onCreateCommand: { a: 'two', b: ['three'] },
    postCreateCommand: '',
    forwardPorts: ['localhost:3000', 'db:5432', 80, 0],
    containerEnv: { A: '${localEnv:KEY}${localEnv:HOME}' },
    remoteEnv: { C: '${containerEnv:A}${containerWorkspaceFolder}', D: null },
  },
]);
const values = { localFolder: '/here', localEnv: { KEY: 'k' }, containerFolder: '/w' };

describe('metadataOf', () => {
  test('joins what the base, the features and the file say', () => {
    const { user, hooks, ports, otherPorts } = metadataOf(label);

    expect({ user, ports, otherPorts }).toEqual({
      user: 'base',
      ports: [80, 3_000],
      otherPorts: ['db:5432', '0'],
    });
    expect(hooks).toEqual([
      { name: 'onCreateCommand', commands: [{ name: '', argv: ['/bin/sh', '-c', 'one'] }] },
      {
        name: 'onCreateCommand',
        commands: [
          { name: 'a', argv: ['/bin/sh', '-c', 'two'] },
          { name: 'b', argv: ['three'] },
        ],
      },
      { name: 'postStartCommand', commands: [{ name: '', argv: ['p', 'x y'] }] },
    ]);
  });

  test('takes a port of a service beside the container for one of its own', () => {
    const { ports, otherPorts } = metadataOf(label, ['db']);
    expect({ ports, otherPorts }).toEqual({ ports: [80, 3_000, 5_432], otherPorts: ['0'] });
  });

  const deep = `[{"remoteUser":"x","remoteEnv":{"A":${'['.repeat(100_000)}${']'.repeat(100_000)}}}]`;
  test.each([
    ['none', undefined],
    ['empty', ''],
    ['no JSON', '{'],
    ['a number', '1'],
    ['a list', '[1, null]'],
    ['deep', deep],
  ])('takes a label for nothing that is %s', (_, text) => {
    expect(metadataOf(text)).toMatchObject({ user: undefined, hooks: [], ports: [] });
  });
});

test('variablesOf lets later ones win, and nothing of this machine in but what the user does', () => {
  expect(variablesOf(metadataOf(label), { PATH: '/bin' }, values)).toEqual([
    ['A', '1'],
    ['B', '/bin'],
    ['A', 'k'],
    ['C', 'k/w'],
    ['D', undefined],
  ]);
});
