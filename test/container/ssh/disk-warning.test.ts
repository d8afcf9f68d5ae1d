import { diskWarning } from '../../../src/container/ssh/disk-warning';

describe('diskWarning', () => {
  it.each([
    ['80', 67108864, /80 % of the 64 MiB/, /is used up, whatever writes in it is ended/],
    ['100', 21474836480, /used up the 20\.0 GiB/, /Until it has less/],
    // The watcher of an earlier version says a budget, too.
    ['100 5', 67108864, /used up the 64 MiB/, /Until it has less/],
  ])('tells of %j', (words, bytes, title, description) => {
    expect(diskWarning(words, bytes)).toEqual({
      kind: 'warning',
      title: expect.stringMatching(title) as string,
      description: expect.stringMatching(description) as string,
    });
  });

  it.each(['0', '', '90', '800', '1000', ' 80', 'x 80'])('tells nothing of %j', (words) => {
    expect(diskWarning(words, 67108864)).toBeUndefined();
  });

  it('tells nothing of a container without a budget', () => {
    expect(diskWarning('100 123456789', undefined)).toBeUndefined();
  });
});
