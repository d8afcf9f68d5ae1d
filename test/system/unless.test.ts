import { objectIn, unlessFails, unlessGone } from '../../src/system/unless';

describe('objectIn', () => {
  test('finds an object', () => expect(objectIn('{"a":[1]}')).toEqual({ a: [1] }));

  test.each([undefined, '', '{', '[{}]', 'null', '"{}"', '5'])('finds none in %s', (text) => {
    expect(objectIn(text)).toBeUndefined();
  });
});

describe.each(['ENOENT', 'EACCES'])('a failure with %s', (code) => {
  const fail = (): number => {
    throw Object.assign(new Error('failed'), { code });
  };

  test('is nothing for unlessFails', () => expect(unlessFails(fail)).toBeUndefined());

  test('is nothing for unlessGone if nothing is there', () => {
    if (code === 'ENOENT') expect(unlessGone(fail)).toBeUndefined();
    else expect(() => unlessGone(fail)).toThrow('failed');
  });
});
