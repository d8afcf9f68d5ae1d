import { readAddress } from '../../../src/served/client/address';
import { Host } from '../../../src/system/host';

const host = new Host({ HOME: '/home/me' });

describe('readAddress', () => {
  test.each([
    ['ws://h', 'ws://h/acp', 'ws://h/acp'],
    ['http://h:8722/', 'ws://h:8722/acp', 'ws://h:8722/acp'],
    ['https://h/team/acp', 'wss://h/team/acp', 'wss://h/team/acp'],
    ['WSS://H.example?agent=codex', 'wss://h.example/acp?agent=codex', 'wss://h.example/acp'],
    ['wss://[::1]:443/', 'wss://[::1]/acp', 'wss://[::1]/acp'],
  ])('takes %s', (text, url, shown) => {
    expect(readAddress(text, undefined, host)).toMatchObject({ url, shown });
  });

  test.each([
    ['tcp://127.0.0.1:8722', 'tcp://127.0.0.1:8722', true, false],
    ['TLS://H.example:443/', 'tls://h.example:443', false, true],
    ['tcp://[::1]:80', 'tcp://[::1]:80', true, false],
  ])('takes %s, for lines', (text, shown, isLoopback, isEncrypted) => {
    expect(readAddress(text, undefined, host)).toMatchObject({
      isLines: true,
      shown,
      isLoopback,
      isEncrypted,
    });
  });

  test.each([
    ['ws://h/', 'a b', 'ws://h/acp?agent=a+b'],
    ['ws://h/?agent=codex', 'codex', 'ws://h/acp?agent=codex'],
    [undefined, 'codex', 'ws://localhost/acp?agent=codex'],
    ['unix:/run/a b?agent=codex', undefined, 'ws://localhost/acp?agent=codex'],
  ])('puts the agent into the query: %s, %s', (text, agent, url) => {
    expect(readAddress(text, agent, host).url).toBe(url);
  });

  test.each([
    ['unix:/run/a:b#c', '/run/a:b#c'],
    ['unix:///run/x', '/run/x'],
    ['unix:x.sock', `${process.cwd()}/x.sock`],
    [undefined, '/home/me/.local/state/containai/serve/serve.sock'],
  ])('takes a Unix socket: %s', (text, socketPath) => {
    expect(readAddress(text, undefined, host)).toMatchObject({ socketPath, shown: `unix:${socketPath}` });
  });

  test.each([
    ['ws://127.0.0.1', true, false],
    ['ws://127.1.2.3', true, false],
    ['ws://localhost', true, false],
    ['wss://[::1]', true, true],
    ['ws://127.0.0.1.example', false, false],
    ['ws://localhost.example', false, false],
    ['wss://h', false, true],
    ['unix:/run/x', false, false],
  ])('tells what is this machine, and what is encrypted: %s', (text, isLoopback, isEncrypted) => {
    expect(readAddress(text, undefined, host)).toMatchObject({ isLoopback, isEncrypted });
  });

  test.each([
    '',
    'h',
    '/run/x',
    'file:///x',
    'ws+unix:/x',
    'ws://h#part',
    'ws://u@h',
    'ws://:p@h',
    'ws://',
    'tcp://h',
    'tcp://h:1/acp',
    'tls://h:1?agent=a',
    'tcp://:1',
    'tcp://u@h:1',
  ])('refuses "%s"', (text) => {
    expect(() => readAddress(text, undefined, host)).toThrow(
      expect.objectContaining({ code: 'USAGE' }) as Error,
    );
  });

  test.each([
    ['127.0.0.1:8722', /, and "127\.0\.0\.1:8722" does not: did you mean http:\/\/127\.0\.0\.1:8722\?$/],
    ['[::1]:8722', /: did you mean http:\/\/\[::1\]:8722\?$/],
    ['build.example:8722', /: did you mean https:\/\/build\.example:8722\?$/],
    ['file:///x', /or unix:, and "file:\/\/\/x" does not$/],
    ['me:s3cr3t@h', /or unix:$/],
    ['h?token=s3cr3t', /or unix:$/],
  ])('says what is wrong with %s, without what may be a secret', (text, message) => {
    expect(() => readAddress(text, undefined, host)).toThrow(message);
  });

  test('shows no query, in which a server of others may want a secret', () => {
    expect(readAddress('wss://h/?token=s3cr3t', undefined, host)).toMatchObject({
      url: 'wss://h/acp?token=s3cr3t',
      shown: 'wss://h/acp',
    });
  });
});
