import { networkInterfaces } from 'node:os';
import { isInternal } from '../../../src/network/egress/addresses';

describe('isInternal', () => {
  it.each([
    ...[
      '0.0.0.0',
      '10.1.2.3',
      '100.64.0.1',
      '127.0.0.1',
      '127.255.255.255',
      '168.63.129.16',
      '169.254.169.254',
    ],
    ...['172.16.0.1', '172.31.255.255', '192.168.1.1', '224.0.0.1', '255.255.255.255'],
    ...[
      '::',
      '::1',
      '::127.0.0.1',
      '::ffff:127.0.0.1',
      '::ffff:a00:1',
      '::ffff:0:a00:1',
      '64:ff9b::7f00:1',
      '2002:7f00:1::',
    ],
    ...['fc00::1', 'fd12::1', 'fe80::1', 'fec0::1', 'ff02::1', '2001::1'],
  ])('is %s', (address) => expect(isInternal(address)).toBe(true));

  it.each(['1.1.1.1', '8.8.8.8', '172.32.0.1', '192.169.0.1', '2606:4700::1111', '::ffff:8.8.8.8'])(
    'is not %s',
    (address) => expect(isInternal(address)).toBe(false),
  );

  it('is every address of this machine', () => {
    const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);

    expect(own.map(({ address }) => isInternal(address))).not.toContain(false);
    expect(own).not.toEqual([]);
  });
});
