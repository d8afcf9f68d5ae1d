import { isInside } from '../../../src/system/paths/is-inside';

describe('isInside', () => {
  test.each([
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/ab', '/a', false],
    ['/', '/a', false],
    ['/a', '/', true],
    ['/', '/', true],
  ])('%s in %s: %s', (path, folder, expected) => expect(isInside(path, folder)).toBe(expected));
});
