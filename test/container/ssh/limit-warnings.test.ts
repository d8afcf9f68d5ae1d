import { diskWarning, shortageWarning } from '../../../src/container/ssh/limit-warnings';

describe('shortageWarning', () => {
  test('tells what happens after the first count, and then when it has doubled', () => {
    const warning = shortageWarning('memory');
    const told = ['7', '7', '8', '9', '10', '11', '12', '17', '0', 'x'].map(
      (words) => warning(words) && words,
    );

    expect(told).toEqual([
      undefined,
      undefined,
      '8',
      '9',
      undefined,
      '11',
      undefined,
      '17',
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['memory', /run out of memory/, /`container\.memory`/],
    ['processes', /could start no more/, /`container\.pids`/],
  ] as const)('names what to raise: %s', (what, title, description) => {
    const warning = shortageWarning(what);
    warning('0');

    expect(warning('1')).toEqual({
      kind: 'warning',
      title: expect.stringMatching(title) as string,
      description: expect.stringMatching(description) as string,
    });
  });
});

describe('diskWarning', () => {
  it.each([
    ['80', 67108864, /80 % of the 64 MiB/, /is used up, any process that writes there is ended/],
    ['100', 21474836480, /used up the 20\.0 GiB/, /Until it has less/],
  ])('tells of %j', (stage, bytes, title, description) => {
    expect(diskWarning(stage, bytes)).toEqual({
      kind: 'warning',
      title: expect.stringMatching(title) as string,
      description: expect.stringMatching(description) as string,
    });
  });

  it.each(['0', '', '90', '800', '1000', ' 80', '80 5'])('tells nothing of %j', (stage) => {
    expect(diskWarning(stage, 67108864)).toBeUndefined();
  });

  it('tells nothing of a container without a budget', () => {
    expect(diskWarning('100', undefined)).toBeUndefined();
  });
});
