import { Failures, networkOf } from '../../../../src/served/server/door/failures';

let now: number;
let failures: Failures;

beforeEach(() => {
  now = 1_000;
  failures = new Failures(() => now);
});

function noteAll(addresses: readonly string[]): number[] {
  return addresses.map((address) => failures.note(address));
}

function times(count: number, address: string): string[] {
  return Array.from({ length: count }, () => address);
}

describe('Failures', () => {
  test('says after ten in a minute how long to wait, and counts those that come too early for nothing', () => {
    expect(noteAll(times(10, '10.0.0.1'))).toEqual(Array.from({ length: 10 }, () => 0));
    expect(noteAll(times(50, '10.0.0.1'))).toEqual(Array.from({ length: 50 }, () => 6));

    now += 6_000;
    expect(noteAll(times(2, '10.0.0.1'))).toEqual([0, 6]);
    now += 3_500;
    expect(failures.note('10.0.0.1')).toBe(3);
  });

  test('allows ten again after a minute, and no more after a day', () => {
    noteAll(times(10, 'a'));
    now += 86_400_000;

    expect(noteAll(times(11, 'a')).filter((wait) => wait > 0)).toHaveLength(1);
  });

  test('counts each address for itself', () => {
    noteAll(times(20, '10.0.0.1'));

    expect(failures.note('10.0.0.2')).toBe(0);
  });

  test('counts all together, too', () => {
    const many = Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`);

    expect(noteAll(many).filter((wait) => wait === 0)).toHaveLength(100);
    expect(failures.note('10.0.1.1')).toBeGreaterThan(0);
  });

  test('counts a network of IPv6 as one address', () => {
    const many = Array.from({ length: 11 }, (_, index) => `2001:db8::${index}:1`);

    expect(noteAll(many).at(-1)).toBeGreaterThan(0);
    expect(failures.note('2001:db8:0:1::1')).toBe(0);
  });

  test.each([
    [999, 'still knows'],
    [1_000, 'has forgotten'],
  ])('after %i other addresses %s the first', (count, what) => {
    noteAll(times(10, 'first'));
    for (let index = 0; index < count; index++) failures.note(`10.1.${index >> 8}.${index & 255}`);

    // All together may send one again, and only an address without failures more than that.
    now += 600;
    expect(failures.note('first')).toBe(what === 'still knows' ? 6 : 0);
  });
});

describe('networkOf', () => {
  test.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['::FFFF:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['1::2:3:4:5:6:7', '1:0:2:3'],
    ['64:ff9b:1:2:3:4:192.0.2.1', '64:ff9b:1:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['', ''],
  ])('of %j is %j', (address, network) => expect(networkOf(address)).toBe(network));
});
