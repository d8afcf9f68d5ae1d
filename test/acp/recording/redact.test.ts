import { redact, redactedText } from '../../../src/acp/recording/redact';

/** What is recorded of a message with these params, parsed. */
function shown(params: unknown, method = '_x'): unknown {
  const line = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const { text, isRedacted } = redact(Buffer.from(line));
  expect(isRedacted).toBe(text !== line);
  return (JSON.parse(text) as { params: unknown }).params;
}

describe('redact', () => {
  test('leaves of the addresses of MCP servers who is meant', () => {
    const address = (url: string): unknown => shown({ mcpServers: [{ type: 'http', name: 'n', url }] });
    const leaves = (url: string): unknown => ({ mcpServers: [{ type: 'http', name: 'n', url }] });

    expect(address('https://host:81/hidden/mcp')).toEqual(leaves(`https://host:81/${redactedText}`));
    expect(address('https://hidden@host/')).toEqual(leaves(`https://host/${redactedText}`));
    expect(address('https://host\\hidden')).toEqual(leaves(`https://host/${redactedText}`));
    expect(address('hidden')).toEqual(leaves(redactedText));
    expect(address('http://[::1]:80/')).toEqual(leaves('http://[::1]:80/'));
    expect(shown({ mcpServers: { n: { serverUri: 'http://h/x' } } })).toEqual({
      mcpServers: { n: { serverUri: `http://h/${redactedText}` } },
    });
  });

  test.each([
    '{"action":"accept","content":{"a":"hidden","b":["hidden"]},"x":"seen"}',
    '{"content":{"a":"hidden","b":["hidden"]},"x":"seen","action":"accept"}',
    '{"action":{"action":"accept","content":{"a":"hidden","b":["hidden"]}},"x":"seen"}',
  ])('takes out what was filled into a form: %s', (result) => {
    const line = `{"jsonrpc":"2.0","id":1,"result":${result}}`;

    expect(redact(Buffer.from(line)).text).toBe(line.replaceAll('"hidden"', `"${redactedText}"`));
  });

  test.each(['tokens', 'refreshTokens', 'authorization_code', 'code'])(
    'takes out the texts under "%s", and leaves numbers',
    (key) => expect(shown({ [key]: ['hidden', 7] })).toEqual({ [key]: [redactedText, 7] }),
  );

  test('takes out the texts in a map of tokens', () => {
    expect(shown({ tokens: { host: 'hidden', n: 1 } })).toEqual({ tokens: { host: redactedText, n: 1 } });
  });

  test.each(['my.env', 'childEnv', 'SERVER_ENV'])('takes out the pairs under "%s"', (key) => {
    const pairs = (value: string): unknown => ({ [key]: [{ name: 'A', value }] });

    expect(shown(pairs('hidden'))).toEqual(pairs(redactedText));
  });

  test.each(['environment', 'envVars', 'env_vars', 'environmentVariables', 'CHILD_ENVIRONMENT', 'Env'])(
    'takes out the variables under "%s"',
    (key) => {
      const under = (value: string): unknown[] => [
        { [key]: { A: value } },
        { [key]: [{ name: 'A', value }] },
        { [key]: [value] },
      ];

      expect(under('hidden').map((params) => shown(params))).toEqual(under(redactedText));
    },
  );

  test.each([
    ['postgres://me:hidden@host/db', `postgres://${redactedText}@host/db`],
    ['redis://:hid:den@host', `redis://${redactedText}@host`],
    ['--db=https:\\/\\/me:hidden@host', `--db=https://${redactedText}@host`],
    [
      'a http://me:hidden@host, b http://me:hidden@host',
      `a http://${redactedText}@host, b http://${redactedText}@host`,
    ],
    ['git+ssh://git@host:22/me', 'git+ssh://git@host:22/me'],
    ['{\\"a\\":\\"http://host:80\\",\\"b\\":\\"me@host\\"}', '{"a":"http://host:80","b":"me@host"}'],
    ['http://host:80/a@b', 'http://host:80/a@b'],
  ])('takes out of any text the passwords of its addresses: %s', (text, expected) => {
    const line = `{"jsonrpc":"2.0","method":"_x","params":{"args":["${text}"],"environment":"${text}"}}`;

    const { text: written, isRedacted } = redact(Buffer.from(line));

    expect((JSON.parse(written) as { params: unknown }).params).toEqual({
      args: [expected],
      environment: expected,
    });
    expect(isRedacted).toBe(written !== line);
  });

  test('takes out the values of variables and headers, and leaves their names', () => {
    const servers = [
      {
        name: 'files',
        command: '/bin/files',
        args: ['--all'],
        env: [
          { name: 'A', value: 'one' },
          { name: 'name', value: 'two', _meta: { x: 'three', y: 4, z: null } },
        ],
      },
      { name: 'web', type: 'http', headers: [{ value: 'four', name: 'X-Key' }], tags: ['five'] },
    ];

    expect(shown({ mcpServers: servers }, 'session/new')).toEqual({
      mcpServers: [
        {
          name: 'files',
          command: '/bin/files',
          args: ['--all'],
          env: [
            { name: 'A', value: redactedText },
            { name: 'name', value: redactedText, _meta: { x: redactedText, y: redactedText, z: null } },
          ],
        },
        { name: 'web', type: 'http', headers: [{ value: redactedText, name: 'X-Key' }], tags: ['five'] },
      ],
    });
  });

  test('takes out maps of variables and headers, wherever they stand', () => {
    const gateway = {
      headers: { Authorization: 'one', name: 'two', deep: ['three'] },
      baseUrl: 'https://a/b',
    };

    expect(shown({ _meta: { gateway }, env: { name: 'four' }, httpHeaders: ['five'] })).toEqual({
      _meta: {
        gateway: {
          headers: { Authorization: redactedText, name: redactedText, deep: [redactedText] },
          baseUrl: 'https://a/b',
        },
      },
      env: { name: redactedText },
      httpHeaders: [redactedText],
    });
  });

  test.each([
    ...['token', 'accessToken', 'refresh_token', 'apiKey', 'api-key', 'x-API-KEY'],
    ...['Authorization', 'password'],
    ...['key', 'db_pwd', 'jwt', 'sessionKey', 'session_key'],
    ...['secrets', 'cookies', 'apiKeys', 'api_keys', 'passwords', 'dbPasswords', 'Authorizations', 'keys'],
    ...['secretValue', 'authorizationHeader', 'API_KEY_ANTHROPIC', 'myApiKeyHere', 'AWSSecretValue'],
    ...['clientSecret', 'credentials', 'Set-Cookie', 'private_key', 'passphrase', 'bearer', 'to\\u006ben'],
  ])('takes out what stands under "%s"', (key) => {
    const line = `{"jsonrpc":"2.0","method":"_x","params":{"${key}":{"a":["hidden",1.50]},"b":"seen"}}`;

    const { text, isRedacted } = redact(Buffer.from(line));

    expect(isRedacted).toBe(true);
    expect(text).toBe(line.replace('"hidden",1.50', `"${redactedText}","${redactedText}"`));
  });

  test.each([
    ['progressToken', 'seen'],
    ['inputTokens', 7],
    ['token_count', 'seen'],
    ['maxTokens', 7],
    ['code', -32_000],
    ['exitCode', 0],
    ['claudeCode', { toolName: 'seen' }],
    ['keyboard', 'seen'],
    ['environment', 'seen'],
    ['secretary', 'seen'],
    ['security', 'seen'],
    ['secretariesRoom', 'seen'],
    ['environmentName', 'seen'],
    ['environment', 7],
    ['resource_link', 'seen'],
    ['link', 'https://host/path'],
    ['authorizationEndpoint', 'https://host/authorize'],
    ['uri', 'file:///a@b/c.ts#L10-L20'],
    ['uri', 'file:///c.ts#L10:20'],
    ['config', { url: 'https://host/path' }],
  ])('leaves what stands under "%s": %j', (key, seen) => {
    expect(shown({ [key]: seen })).toEqual({ [key]: seen });
  });

  test.each(['authenticate', 'authenti\\u0063ate', 'providers/set'])(
    'takes out the params of %s',
    (method) => {
      const params = '{"methodId":"key","id":"main","x":["y",{"z":true}],"_meta":{"code":7}}';
      const line = `{"params":${params},"jsonrpc":"2.0","id":1,"method":"${method}"}`;

      const { text } = redact(Buffer.from(line));

      const shownParams = `{"methodId":"key","id":"main","x":["${redactedText}",{"z":true}],"_meta":{"code":"${redactedText}"}}`;
      expect(text).toBe(line.replace(params, shownParams));
    },
  );

  test.each([
    ['https://user:word@host/x', redactedText],
    ['https://host/x?code=1', redactedText],
    ['https:\\/\\/user:word@host', redactedText],
    ['https://host/#access_token=1', redactedText],
    ['https://host/@x', 'https://host/@x'],
  ])('leaves of addresses those without password, query and fragment: %s', (url, expected) => {
    for (const key of ['url', 'uri', 'href', 'link', 'endpoint', 'redirect', 'docLinks', 'loginUrls']) {
      const line = `{"jsonrpc":"2.0","method":"_x","params":{"${key}":["${url}"]}}`;

      expect(JSON.parse(redact(Buffer.from(line)).text)).toMatchObject({ params: { [key]: [expected] } });
    }
  });

  test.each(['{"token":"hidden"', '[{"token":"hidden"}]', '{"token":"hidden"}', '\xff password'])(
    'takes out all of a line that is no message and could hold a secret: %s',
    (line) => expect(redact(Buffer.from(line))).toEqual({ text: redactedText, isRedacted: true }),
  );

  test('leaves all other bytes as they are', () => {
    const line =
      '{ "jsonrpc":"2.0" ,"id":12345678901234567890,"method":"_x","params":{"n":1.0,"t":"\\u00e9é","a":[],"env":{}}}';

    expect(redact(Buffer.from(line))).toEqual({ text: line, isRedacted: false });
    expect(redact(Buffer.from('no message at all'))).toEqual({
      text: 'no message at all',
      isRedacted: false,
    });
  });
});
