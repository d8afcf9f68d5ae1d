import { connect, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { keepDecision } from '../../src/network/egress/decisions';
import { openEgress, type EgressOptions } from '../../src/container/egress';
import { readLog } from '../../src/network/egress/network-log';
import { Host } from '../../src/system/host';
import { listening } from '../support/listening';
import { newFolder } from '../support/temp-folder';

/** Where what is inside reaches the proxy. */
let port: number;

const config = {
  network: { egress: 'ask', allow: [], deny: [], hostPorts: [] },
  container: { pids: 1, idleMs: 0, own: [], extraHosts: [] },
  credentials: [],
  git: { sshAgent: [], isSigning: false },
  services: [],
} as const;

/** A command's way; `refusals` are what it is told. */
async function given(changes: Partial<EgressOptions> = {}, inherited: [string, string][] = []) {
  const home = newFolder();
  const { state } = new Host({ HOME: home }).folders;
  const refusals: string[] = [];
  const listenAnywhere = async (take: (stream: Duplex) => void) =>
    (port = await listening(createServer({ allowHalfOpen: true }, take)));
  const variables = await openEgress({ listenAnywhere }, inherited, {
    agent: 'claude',
    workspace: '/ws',
    config,
    host: new Host({ HOME: home }),
    isTrusted: true,
    signIn: undefined,
    ask: undefined,
    onRefusal: (because) => refusals.push(because),
    ...changes,
  });
  return { state, refusals, variables: new Map(variables) };
}

/** The status line for a tunnel to a place. */
async function statusFor(place: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.end(`CONNECT ${place} HTTP/1.1\r\nHost: ${place}\r\n\r\n`);
  return (await text(socket)).split('\r\n')[0]!;
}

describe('openEgress', () => {
  it('tells every program where the proxy is, and that the container itself needs none', async () => {
    const { variables } = await given();

    const proxy = `http://127.0.0.1:${port}`;
    expect(Object.fromEntries(variables)).toEqual({
      http_proxy: proxy,
      HTTP_PROXY: proxy,
      https_proxy: proxy,
      HTTPS_PROXY: proxy,
      no_proxy: 'localhost,127.0.0.1,::1',
      NO_PROXY: 'localhost,127.0.0.1,::1',
      NODE_USE_ENV_PROXY: '1',
      NODE_NO_WARNINGS: '1',
      JAVA_TOOL_OPTIONS: `-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=${port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=${port}`,
    });
  });

  it('asks no proxy for the services beside the container', async () => {
    const services = [{ name: 'db', image: 'postgres', env: [], after: [], ends: false, memoryBytes: 1 }];
    const { variables } = await given({ config: { ...config, services } });

    expect(variables.get('NO_PROXY')).toBe('localhost,127.0.0.1,::1,db');
  });

  it('asks no proxy for this machine where ports of it are reached, and says of others what to do', async () => {
    const network = { ...config.network, hostPorts: [5432] };
    const { variables, refusals } = await given({ config: { ...config, network } });

    expect(variables.get('NO_PROXY')).toBe('localhost,127.0.0.1,::1,host.docker.internal');
    expect(variables.get('JAVA_TOOL_OPTIONS')).toMatch(
      / -Dhttp\.nonProxyHosts=localhost\|127\.\*\|\[::1\]\|host\.docker\.internal$/,
    );
    for (const place of ['host.docker.internal:1025', '127.0.0.1:1025'])
      expect(await statusFor(place)).toMatch(/^HTTP\/1\.1 403 /);
    expect(refusals).toEqual([
      expect.stringMatching(/^host\.docker\.internal:1025 is this machine: .* add 1025 to "host_ports"/),
      expect.stringMatching(/^127\.0\.0\.1:1025 is this machine or .* add 1025 to "host_ports"/),
    ]);
  });

  it('leaves the name of this machine to the user who has defined it', async () => {
    const [network, container] = [{ ...config.network, hostPorts: [5432] }, { ...config.container, extraHosts: ['host.docker.internal:10.0.0.7'] }]; // prettier-ignore
    const { variables, refusals } = await given({ config: { ...config, network, container } });

    expect(variables.get('NO_PROXY')).toBe('localhost,127.0.0.1,::1');
    expect(await statusFor('host.docker.internal:5432')).toMatch(/^HTTP\/1\.1 403 /);
    expect(refusals).toEqual([expect.stringContaining('cai network allow')]);
  });

  it('leaves Java the options that it has', async () => {
    const { variables } = await given({}, [['JAVA_TOOL_OPTIONS', '-Xmx1g']]);

    expect(variables.get('JAVA_TOOL_OPTIONS')).toMatch(/^-Xmx1g -Dhttp\.proxyHost=/);
  });

  it('refuses what no list has and tells it once, and refuses quietly what is told about usage', async () => {
    const { refusals, state } = await given();

    for (const place of ['other.example:443', 'other.example:443', 'browser-intake-us5-datadoghq.com:443'])
      expect(await statusFor(place)).toMatch(/^HTTP\/1\.1 403 /);

    expect(refusals).toEqual([expect.stringMatching(/^other\.example:443 is not allowed/)]);
    expect(readLog(state, '/ws').map(({ place, outcome }) => `${outcome} ${place}`)).toEqual([
      'refused other.example:443',
      'refused browser-intake-us5-datadoghq.com:443',
    ]);
  });

  it('goes on without a file of certificates that is gone', async () => {
    const network = { ...config.network, caFile: '/gone' };
    await given({ config: { ...config, network } });

    expect(await statusFor('other.example:443')).toMatch(/^HTTP\/1\.1 403 /);
  });

  it('follows the configuration, and what the user decides meanwhile', async () => {
    // That there is no such name is said of one that was admitted.
    const { state } = await given({
      config: { ...config, network: { ...config.network, allow: ['a.invalid'] } },
    });

    expect(await statusFor('a.invalid:443')).toMatch(/^HTTP\/1\.1 502 /);
    expect(await statusFor('b.invalid:443')).toMatch(/^HTTP\/1\.1 403 /);
    keepDecision(state, '/ws', 'allow', 'b.invalid');
    expect(await statusFor('b.invalid:443')).toMatch(/^HTTP\/1\.1 502 /);
    keepDecision(state, '/ws', 'deny', 'a.invalid');
    expect(await statusFor('a.invalid:443')).toMatch(/^HTTP\/1\.1 403 /);
  });
});
