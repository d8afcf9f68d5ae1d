import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { readRegistry } from '../../../src/agent/registry/acp-registry';
import { registryUrl, updateRegistry } from '../../../src/agent/registry/update';
import { Host } from '../../../src/system/host';
import { expectedError } from '../../expected-error';
import { certificate } from '../../support/certificate';
import { elsewhere } from '../../support/elsewhere';
import { newFolder } from '../../support/temp-folder';

const made = certificate(new URL(registryUrl).hostname);
let host: Host;

beforeEach(() => (host = new Host({ HOME: newFolder() })));

const agent = (id: string, version: string) => ({
  ...{ id, name: id, version, description: 'x' },
  distribution: { npx: { package: `${id}@${version}` } },
});

/** Updates from what a server answers. */
async function update(answer: RequestListener) {
  const { network, asked } = await elsewhere(made, answer);
  const caFile = join(newFolder(), 'ca.pem');
  writeFileSync(caFile, made.cert);
  return { done: await updateRegistry(host, { ...network, caFile }), asked };
}

const serving =
  (agents: readonly unknown[]): RequestListener =>
  (_from, to) =>
    void to.end(JSON.stringify({ version: '1.0.0', agents }));

describe('updateRegistry', () => {
  test('fetches by the proxy and the certificates of the configuration, and tells what is other than before', async () => {
    const first = await update(serving([agent('one', '1.0.0'), agent('two', '1.0.0'), { id: 'bad' }]));
    expect(first.asked).toEqual([expect.stringMatching(/^cdn\.agentclientprotocol\.com:443 /)]);
    expect(first.done).toMatchObject({ count: 2, added: ['one', 'two'], dropped: [{ id: 'bad' }] });
    expect(first.done.removed).toContain('auggie');

    const { done } = await update(serving([agent('two', '1.0.1'), agent('three', '1.0.0')]));

    expect(done).toMatchObject({ added: ['three'], changed: ['two'], removed: ['one'] });
    expect(readRegistry(host).entries.map(({ id }) => id)).toEqual(['two', 'three']);
  });

  test.each<[string, RequestListener, RegExp]>([
    ['an error', (_from, to) => to.writeHead(503).end('{"agents":[]}'), /status 503/],
    ['a page', (_from, to) => to.end('<html>'), /is not the registry of agents/],
    ['no agent', serving([]), /there is no agent in it that can be used/],
    ['nothing that can be used', serving([{ id: 'bad' }]), /there is no agent in it/],
    ['more than it may', (_from, to) => to.end(Buffer.alloc(5 * 2 ** 20, ' ')), /more than 4 MiB/],
    [
      'a way to this machine',
      (_from, to) => to.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
      /this machine, and is not asked/,
    ],
    [
      'a way without TLS',
      (_from, to) => to.writeHead(302, { location: 'http://example.com/' }).end(),
      /there is no TLS/,
    ],
  ])('keeps what is there where it gets %s', async (_, answer, why) => {
    await update(serving([agent('kept', '1.0.0')]));

    await expect(update(answer)).rejects.toMatchObject(expectedError('NO_SERVER', why));
    expect(readRegistry(host).entries.map(({ id }) => id)).toEqual(['kept']);
  });
});
