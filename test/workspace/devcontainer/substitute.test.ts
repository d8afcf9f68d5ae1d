import { substitute } from '../../../src/workspace/devcontainer/substitute';

const local = { localFolder: '/home/u/app', localEnv: { KEY: 'k' } };

describe('substitute', () => {
  test('knows folders and the variables that are let in, in every string', () => {
    const value = {
      a: ['${localWorkspaceFolder}/x', '${localWorkspaceFolderBasename}'],
      b: { c: '${localEnv:KEY}-${env:KEY}', d: 1, e: null },
    };

    expect(substitute(value, local)).toEqual({
      a: ['/home/u/app/x', 'app'],
      b: { c: 'k-k', d: 1, e: null },
    });
  });

  test('gives no other variable of this machine, but what holds without it', () => {
    process.env.CAI_SUBSTITUTE = 'secret';

    expect(substitute('[${localEnv:CAI_SUBSTITUTE}]', local)).toBe('[]');
    expect(substitute('${localEnv:HOME:/a:b}', local)).toBe('/a:b');
    expect(substitute('${localEnv:__proto__}', local)).toBe('');
  });

  test('leaves what is inside until that is known', () => {
    const text =
      '${containerWorkspaceFolder} ${containerEnv:PATH}:/x ${containerWorkspaceFolderBasename} ${other}';

    expect(substitute(text, local)).toBe(text);
    expect(substitute(text, { ...local, containerFolder: '/w', containerEnv: { PATH: '/bin' } })).toBe(
      '/w /bin:/x w ${other}',
    );
  });
});
