import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import * as https from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { rememberAgentFolders } from '../../../../src/system/paths/agent-folders';
import { Host } from '../../../../src/system/host';
import { tlsOptionsOf } from '../../../../src/served/server/door/tls';
import { isRefusal, type Refusal, type Visitor } from '../../../../src/served/server/door/visitor';
import { expectedError } from '../../../expected-error';
import { newKey } from '../../../support/certificate';
import { newFolder } from '../../../support/temp-folder';
import { newDoor, outcome, users } from './served';

describe('a certificate of a client', () => {
  const folder = newFolder();
  const file = (name: string): string => join(folder, name);
  const openssl = (...args: string[]) =>
    execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });

  beforeAll(() => {
    for (const ca of ['ca', 'evil-ca'])
      openssl('req', '-x509', ...newKey, '-subj', `/CN=${ca}`, '-keyout', `${ca}.key`, '-out', `${ca}.pem`);
    const files = ['-keyout', 'server.key', '-out', 'server.pem'];
    openssl('req', '-x509', ...newKey, '-subj', '/CN=localhost', ...files);
    issue('ann', 'ca', '/CN=ann');
    issue('forged', 'evil-ca', '/CN=ann');
    issue('owner', 'ca', '/CN=owner');
    issue('eve', 'ca', '/CN=eve');
    issue('two', 'ca', '/CN=ann/CN=bot');
    issue('none', 'ca', '/O=ann');
  });

  function issue(name: string, ca: string, subject: string): void {
    openssl('req', ...newKey, '-subj', subject, '-keyout', `${name}.key`, '-out', `${name}.csr`);
    const by = ['-CA', `${ca}.pem`, '-CAkey', `${ca}.key`];
    openssl('x509', '-req', '-days', '2', '-in', `${name}.csr`, ...by, '-out', `${name}.pem`);
  }

  async function serving() {
    const files = { tlsCert: file('server.pem'), tlsKey: file('server.key'), clientCa: file('ca.pem') };
    const { door, tokens, owner, host } = newDoor({ serve: { users } });
    const answers: (Visitor | Refusal)[] = [];
    const server = https.createServer(tlsOptionsOf(host, files as never)!, (request, response) => {
      answers.push(door.admit(request, false));
      response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const ask = async (certificate?: string, headers: Record<string, string> = {}) => {
      const own =
        certificate === undefined
          ? {}
          : { cert: readFileSync(file(`${certificate}.pem`)), key: readFileSync(file(`${certificate}.key`)) };
      const request = https.get({
        host: 'localhost',
        port,
        ca: readFileSync(file('server.pem')),
        headers,
        agent: false,
        ...own,
      });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      return answers.at(-1)!;
    };
    return { door, tokens, owner, ask, port, close: () => server.close() };
  }

  test.each([
    ['ann', 'ann'],
    ['forged', 401],
    ['owner', 401],
    ['eve', 401],
    ['two', 401],
    ['none', 401],
    [undefined, 401],
  ])('lets in whom it names, if the configuration does: %s: %s', async (certificate, expected) => {
    const { door, ask, close } = await serving();

    const answer = await ask(certificate);
    close();
    expect(outcome(answer)).toBe(expected);
    if (!isRefusal(answer))
      expect(answer).toEqual({ name: 'ann', agents: ['claude'], workspaces: ['/srv/shop'] });
    if (!isRefusal(answer)) expect(door.isStillAdmitted(answer)).toBe(true);
  });

  test('counts less than a token, and not for the pages of others', async () => {
    const { tokens, ask, port, close } = await serving();
    const Authorization = `Bearer ${await tokens.add('bot')}`;

    expect(outcome(await ask('ann', { Authorization }))).toBe('bot');
    expect(outcome(await ask(undefined, { Authorization }))).toBe('bot');
    expect(outcome(await ask('ann', { Authorization: 'Bearer wrong' }))).toBe(401);
    expect(outcome(await ask('ann', { Origin: 'https://evil.example' }))).toBe(403);
    expect(outcome(await ask('ann', { Origin: `http://localhost:${port}` }))).toBe(403);
    expect(outcome(await ask('ann', { Origin: `https://localhost:${port}` }))).toBe('ann');
    close();
  });
});

describe('tlsOptionsOf', () => {
  const host = new Host({ HOME: '/home/u', XDG_STATE_HOME: newFolder(), XDG_CONFIG_HOME: newFolder() });
  const of = (serve: object) => tlsOptionsOf(host, serve as never);

  test('reads nothing that an agent could put in its place', () => {
    const theirs = newFolder();
    rememberAgentFolders(host.folders.state, [theirs]);

    expect(() => of({ tlsCert: join(theirs, 'c.pem'), tlsKey: '/k' })).toThrow(
      /"serve\.tls_cert" names .*, where an agent could put any other file in its place/,
    );
  });

  test('is nothing without a certificate', () => expect(of({})).toBeUndefined());

  test.each([
    [{ tlsCert: '/c' }, '[serve] lacks "tls_key"'],
    [{ tlsKey: '/k' }, '[serve] lacks "tls_cert"'],
    [{ clientCa: '/ca' }, '[serve] lacks "tls_cert"'],
    [
      { tlsCert: '/not/there', tlsKey: '/not/there' },
      '/not/there, which "tls_cert" in [serve] names, cannot be read',
    ],
  ])('refuses %j', (serve, why) => {
    expect(() => of(serve)).toThrow(expect.objectContaining(expectedError('CONFIG', why)) as Error);
  });
});
