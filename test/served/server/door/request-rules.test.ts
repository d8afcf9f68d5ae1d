import * as refused from '../../../support/refused-requests';
import { newDoor, outcome, serve, socketPath, type Given } from './served';

/** Sends requests with the user's token to a door that was given that; resolves with who came in, or the status. */
async function knocking(given: Given = {}, path?: string) {
  const { door, owner } = newDoor(given);
  const { port, send } = await serve((request) => door.admit(request, path !== undefined), path);
  const knock = async (first: string, ...headers: string[]): Promise<number | string> => {
    const filled = [first, ...headers].map((line) => line.replaceAll('PORT', String(port)));
    const { status, answer } = await send(...filled, `Authorization: Bearer ${owner}`, 'Connection: close');
    return status === 200 ? outcome(answer) : -status;
  };
  const host = (...headers: string[]) => knock('GET /acp HTTP/1.1', ...headers);
  return { door, owner, knock, host };
}

describe('the host that a request is for', () => {
  test.each<readonly [string, number | string]>([
    ['Host: 127.0.0.1:PORT', 'owner'],
    ['Host: localhost:PORT', 'owner'],
    ['Host: LocalHost:PORT', 'owner'],
    ['host:   localhost:PORT  ', 'owner'],
    ['Host: cai.localhost:PORT', 'owner'],
    ...refused.hosts,
  ])('%j: %s', async (header, expected) => expect(await (await knocking()).host(header)).toBe(expected));

  test('is named, whatever other headers say', async () => {
    const { knock } = await knocking();

    expect(await knock('GET /acp HTTP/1.0')).toBe(400);
    expect(await knock('GET /acp HTTP/1.0', 'X-Forwarded-Host: localhost:PORT', 'Host: evil.example')).toBe(
      421,
    );
  });

  test.each([
    ['agents.example.com:PORT', 'owner'],
    ['Agents.Example.Com:PORT', 'owner'],
    ['agents.example.com', 421],
    ['agents.example.com:443', 421],
    ['sub.agents.example.com:PORT', 421],
    ['other.example.com:8443', 'owner'],
    ['other.example.com:PORT', 421],
    ['other.example.com', 421],
    ['10.9.8.7:PORT', 'owner'],
    ['[fd00::1]:PORT', 'owner'],
    ['[FD00::1]:PORT', 'owner'],
    ['[fd00::2]:8443', 'owner'],
    ['[fd00::2]:PORT', 421],
    ['myhost.lan:PORT', 'owner'],
    ['0.0.0.0:PORT', 421],
    ['[::]:PORT', 421],
  ])('can be listed: %s: %s', async (host, expected) => {
    const hosts = ['agents.example.com', 'other.example.com:8443', '10.9.8.7', '[fd00::1]', '[fd00::2]:8443'];
    const knocked = await knocking({ serve: { hosts } });

    for (const each of ['MyHost.lan', '0.0.0.0', '::', '[::]']) knocked.door.listensOn(each);

    expect(await knocked.host(`Host: ${host}`)).toBe(expected);
  });

  test.each([
    ['agents.example.com', 'owner'],
    ['agents.example.com:443', 'owner'],
    ['agents.example.com:PORT', 'owner'],
    ['agents.example.com:80', 421],
    ['evil.example', 421],
    ['localhost', 421],
  ])('is what a proxy passes on: %s: %s', async (host, expected) => {
    const { host: knock } = await knocking({ isBehindProxy: true, serve: { hosts: ['agents.example.com'] } });

    expect(await knock(`Host: ${host}`, 'X-Forwarded-Host: localhost:PORT')).toBe(expected);
  });
});

describe('the page that sends a request', () => {
  const origins = ['https://editor.example.com', 'http://localhost:3000'];

  test.each<readonly [string, number | string]>([
    ['Origin: http://localhost:PORT', 'owner'],
    ['Origin: https://editor.example.com', 'owner'],
    ['Origin: https://editor.example.com\r\nSec-Fetch-Site: cross-site', 'owner'],
    ['Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site', 'owner'],
    ['Sec-Fetch-Site: same-origin', 'owner'],
    ['Sec-Fetch-Site: none', 'owner'],
    ...refused.pages,
  ])('%j: %s', async (headers, expected) => {
    const { host } = await knocking({ serve: { origins } });

    expect(await host('Host: localhost:PORT', headers)).toBe(expected);
    expect(await host('Host: localhost:PORT', headers, 'Upgrade: websocket', 'Connection: Upgrade')).toBe(
      expected,
    );
  });

  test.each([
    ['https://agents.example.com', 'owner'],
    ['http://agents.example.com', 403],
  ])('has TLS where a proxy speaks it: %s: %s', async (origin, expected) => {
    const { host } = await knocking({ isBehindProxy: true, serve: { hosts: ['agents.example.com'] } });

    expect(await host('Host: agents.example.com', `Origin: ${origin}`)).toBe(expected);
  });
});

describe('a request by the Unix socket', () => {
  test.each([
    [['Host: localhost'], 'owner'],
    [['Host: localhost:9000'], 'owner'],
    [['Host: 127.0.0.1:9000'], 'owner'],
    [['Host: agents.example.com'], 'owner'],
    [['Host: evil.example:9000'], 421],
    [['Host: localhost:9000', 'Origin: http://localhost:9000'], 403],
    [['Host: localhost:9000', 'Origin: null'], 403],
    [['Host: localhost:9000', 'Origin: https://editor.example.com'], 'owner'],
    [['Host: localhost:9000', 'Sec-Fetch-Site: cross-site'], 403],
  ])('%j: %s', async (headers, expected) => {
    const serve = { hosts: ['agents.example.com'], origins: ['https://editor.example.com'] };
    const { host } = await knocking({ serve }, socketPath());

    expect(await host(...headers)).toBe(expected);
  });
});

describe('the form of a request', () => {
  test.each([
    ['GET http://evil.example/acp HTTP/1.1', 400],
    ['GET http://localhost:PORT/acp HTTP/1.1', 400],
    ['OPTIONS * HTTP/1.1', 400],
    ['GET //evil.example/acp HTTP/1.1', 'owner'],
    ['GET /acp?agent=codex HTTP/1.1', 'owner'],
    ['GET /acp?token=x HTTP/1.1', 400],
    ['GET /acp?agent=codex&access_token=x HTTP/1.1', 400],
    ['GET /acp?Access-Token=x HTTP/1.1', 'owner'],
    ['GET /acp?a=b?access_token=x HTTP/1.1', 'owner'],
    ['GET /acp?x=OWNER HTTP/1.1', 400],
    ['GET /acp?x=%63%61%69%5fabc HTTP/1.1', 400],
    ['GET /OWNER HTTP/1.1', 400],
  ])('%s: %s', async (first, expected) => {
    const { knock, owner } = await knocking();

    expect(await knock(first.replace('OWNER', owner), 'Host: localhost:PORT')).toBe(expected);
  });

  test('has one Authorization', async () => {
    const { host, owner } = await knocking();

    expect(await host('Host: localhost:PORT', `authorization: Bearer ${owner}`)).toBe(400);
    expect(await host('Host: localhost:PORT', 'authorization: Bearer wrong')).toBe(400);
  });
});
