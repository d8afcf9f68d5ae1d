/** Addresses that a container reaches only by a rule that names them: this machine, and networks that are not public. */
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Sources: IANA registries of special-purpose addresses for IPv4 and IPv6; addresses that hold others, such as NAT64;
 * learn.microsoft.com, "What is IP address 168.63.129.16?": a service of the machine that Azure gives its machines.
 */
const notPublic = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32'],
  ...['169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...[
    '::/96',
    '::ffff:0:0:0/96',
    '64:ff9b::/96',
    '64:ff9b:1::/48',
    '100::/64',
    '2001::/23',
    '2001:db8::/32',
    '2002::/16',
  ],
  ...['3fff::/20', '5f00::/16', 'fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

let reserved: BlockList | undefined;

/** Made when it is first needed: that takes some 7 ms, and most commands connect to nothing. */
function reservedList(): BlockList {
  if (reserved !== undefined) return reserved;
  reserved = new BlockList();
  for (const range of notPublic) {
    const [address = '', bits] = range.split('/');
    reserved.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return reserved;
}

/** Whether nothing but a rule of addresses allows it: not public, or one of this machine's own. */
export function isInternal(address: string): boolean {
  const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
  if (reservedList().check(address, family)) return true;
  const own = new BlockList();
  // Looked up each time: they change with the networks that a machine joins.
  for (const each of Object.values(networkInterfaces()).flat())
    if (each !== undefined) own.addAddress(each.address, each.family === 'IPv4' ? 'ipv4' : 'ipv6');
  return own.check(address, family);
}
