import { mkdirSync, symlinkSync } from 'node:fs';
import { projectAround, searchFolders } from '../../../src/system/paths/search-path';
import { newFolder } from '../../support/temp-folder';

describe('searchFolders', () => {
  test('keeps absolute folders in their order', () => {
    expect(searchFolders('/b:/a b:/usr/bin')).toEqual(['/b', '/a b', '/usr/bin']);
  });

  test.each([':/a', '/a:', '/a::', '.:/a', 'bin:/a', '../x:./y:~/z:/a'])(
    'leaves out of "%s" what depends on the current folder',
    (path) => expect(searchFolders(path)).toEqual(['/a']),
  );

  // For the system, an empty PATH is the current folder.
  test.each([undefined, '', ':', 'bin'])('is never empty: %j', (path) => {
    expect(searchFolders(path)).toEqual(['/usr/bin', '/bin']);
  });

  test('leaves out what lies in a project, also through a link', () => {
    const root = newFolder();
    mkdirSync(`${root}/project/bin`, { recursive: true });
    symlinkSync(`${root}/project/bin`, `${root}/link`);

    const path = `${root}/project/bin:${root}/project/none:${root}/link:${root}/project-bin:/a`;
    expect(searchFolders(path, `${root}/project`)).toEqual([`${root}/project-bin`, '/a']);
  });
});

describe('projectAround', () => {
  const home = newFolder();
  mkdirSync(`${home}/src/outer/.git`, { recursive: true });
  mkdirSync(`${home}/src/outer/a/inner/.git`, { recursive: true });
  mkdirSync(`${home}/.git`);

  test.each([
    ['the outermost repository', '/src/outer/a/inner', '/src/outer'],
    ['the folder itself, without one', '/src', '/src'],
  ])('is %s', (_, folder, project) => expect(projectAround(home + folder, home)).toBe(home + project));

  test.each([home, '/', '/tmp'])('is nothing for %s, where the user has programs', (folder) => {
    expect(projectAround(folder, home)).toBeUndefined();
  });
});
