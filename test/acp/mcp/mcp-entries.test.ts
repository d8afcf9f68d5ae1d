import { loopbackOf, mcpEntries } from '../../../src/acp/mcp/mcp-entries';
import { sessionSetup } from '../../../src/rpc/protocol/fields';
import { wantedIn } from '../../../src/rpc/json/wanted-places';
import { scan } from '../../../src/rpc/message';

const plan = wantedIn(sessionSetup);

function read(servers: string) {
  const line = Buffer.from(
    `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"mcpServers":${servers},"cwd":"/w"}}`,
  );
  return scan(line, { params: () => plan, result: () => undefined, error: undefined });
}

/** The entries, each with the text that lies at its span. */
function entriesOf(servers: string) {
  const message = read(servers);
  return mcpEntries(message).map(({ span, ...entry }) => ({
    ...entry,
    text: message.line.toString('utf8', span.start, span.end),
  }));
}

describe('mcpEntries', () => {
  test('reads programs with all that starts them, and where they stand', () => {
    const text = '{"args":["a b"],"env":[{"name":"T","value":"s="}],"command":"npx","name":"one"}';

    expect(entriesOf(`[${text}, {"type":"stdio","name":"two","command":"/x"}]`)).toEqual([
      {
        kind: 'program',
        name: 'one',
        hasType: false,
        command: 'npx',
        args: ['a b'],
        env: [['T', 's=']],
        text,
      },
      {
        ...{ kind: 'program', name: 'two', hasType: true, command: '/x', args: [], env: [] },
        text: '{"type":"stdio","name":"two","command":"/x"}',
      },
    ]);
  });

  test('reads servers by their address, with the place of their URL, and no others', () => {
    const of = (type: string, url: string) =>
      `{"name":"${type}","type":"${type}","headers":[{"name":"url","value":"http://localhost:1"}],"url":"${url}"}`;
    const servers = [
      of('http', 'http://127.0.0.1:3000/mcp'),
      of('sse', 'https://[::1]:4000'),
      of('http', 'https://example.org'),
      of('acp', 'http://localhost:5000'),
      of('_own', 'http://localhost:5000'),
    ];

    expect(entriesOf(`[${servers.join()}]`)).toEqual([
      {
        ...{ kind: 'loopback', name: 'http', host: 'localhost', port: 3000, url: undefined },
        text: '"http://127.0.0.1:3000/mcp"',
      },
      {
        ...{ kind: 'loopback', name: 'sse', host: 'localhost', port: 4000, url: 'https://127.0.0.1:4000' },
        text: '"https://[::1]:4000"',
      },
      { kind: 'remote', name: 'http', place: 'example.org:443', text: '"https://example.org"' },
    ]);
  });

  test('reads each of several that have the same name', () => {
    const servers = '[{"name":"a","command":"x"},{"name":"a","command":"y"}]';

    expect(entriesOf(servers)).toMatchObject([{ command: 'x' }, { command: 'y' }]);
  });

  test.each([
    ['null'],
    ['"text"'],
    ['{"name":"a","command":"x"}'],
    ['[null,1,"a",[]]'],
    ['[{}]'],
    ['[{"name":7,"command":"x"}]'],
    ['[{"name":"a"}]'],
    ['[{"name":"a","command":""}]'],
    ['[{"name":"a","command":["x"]}]'],
    ['[{"name":"a","command":"x","args":"y"}]'],
    ['[{"name":"a","command":"x","args":["y",1]}]'],
    ['[{"name":"a","command":"x","args":["\\u0000"]}]'],
    ['[{"name":"a","command":"x","env":{"A":"b"}}]'],
    ['[{"name":"a","command":"x","env":[{"name":"A"}]}]'],
    ['[{"name":"a","command":"x","env":[{"name":"A=B","value":""}]}]'],
    ['[{"name":"a","command":"x","type":null}]'],
    ['[{"name":"a","type":"http"}]'],
    ['[{"name":"a","type":"http","url":{"url":"http://localhost:1"}}]'],
    ['[{"name":"a","type":"http","url":"localhost:3000"}]'],
    ['[{"name":"a","type":"http","url":"http://localhost:99999"}]'],
  ])('leaves what is not as the protocol has it to the agent: %s', (servers) => {
    expect(read(servers).kind).toBe('request');
    expect(entriesOf(servers)).toEqual([]);
  });

  test.each([
    ['{"name":"a","name":"b","command":"x"}'],
    ['{"name":"a","command":"x","\\u0063ommand":"y"}'],
    ['{"name":"a","type":"http","url":"http://localhost:1","url":"http://localhost:2"}'],
    ['{"name":"a","type":"http","url":"http://localhost:1","URL":"http://localhost:2"}'],
    ['{"name":"a","type":"stdio","command":"x","type":"http"}'],
  ])('never sees what two parsers would read differently: %s', (server) => {
    expect(read(`[${server}]`)).toMatchObject({ kind: 'defect', defect: 'duplicate' });
  });
});

describe('loopbackOf', () => {
  test.each([
    ['http://localhost:3000/mcp?a=%2f#x', { host: 'localhost', port: 3000, url: undefined }],
    ['HTTPS://LOCALHOST', { host: 'localhost', port: 443, url: undefined }],
    ['http://127.0.0.1', { host: 'localhost', port: 80, url: undefined }],
    ['http://[::1]:8/a', { host: 'localhost', port: 8, url: 'http://127.0.0.1:8/a' }],
    ['http://[0:0::1]:8', { host: 'localhost', port: 8, url: 'http://127.0.0.1:8' }],
    ['http://127.0.0.53:8/?u=//[::1]', { host: '127.0.0.53', port: 8, url: 'http://127.0.0.1:8/?u=//[::1]' }],
    ['http://u:p@127.1.2.3:8/@x', { host: '127.1.2.3', port: 8, url: 'http://u:p@127.0.0.1:8/@x' }],
  ])('takes %s', (url, loopback) => expect(loopbackOf(url)).toEqual(loopback));

  test.each([
    ['http://host.docker.internal:3000'],
    ['http://0.0.0.0:3000'],
    ['http://192.168.0.1:3000'],
    ['http://localhost.example.org:3000'],
    ['http://127.0.0.1.example.org:3000'],
    ['http://example.org:3000/@localhost'],
    ['http://localhost@example.org'],
    ['ws://localhost:3000'],
    ['file://localhost/etc'],
    [''],
  ])('leaves %s', (url) => expect(loopbackOf(url)).toBeUndefined());
});
