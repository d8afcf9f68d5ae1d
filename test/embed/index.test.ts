/** The package as other programs get it: its files in their `node_modules`, without anything else of ours. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { newFolder } from '../support/temp-folder';

const repository = resolve(__dirname, '../..');
const folder = newFolder();

/** Makes a package of ours, which the tests only read, that of the other program, too. */
function install(name: string): void {
  const place = join(folder, 'node_modules', name);
  mkdirSync(dirname(place), { recursive: true });
  symlinkSync(join(repository, 'node_modules', name), place);
}

beforeAll(() => {
  const place = join(folder, 'node_modules/containai');
  const { files } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { files: string[] };
  for (const name of ['package.json', ...files])
    cpSync(join(repository, name), join(place, name), { recursive: true });
  for (const name of ['@agentclientprotocol/sdk', 'zod', '@types/node', 'undici-types']) install(name);
});

/** What the TypeScript compiler says of these programs, in the strictest mode. */
function compile(programs: Readonly<Record<string, string>>, options: readonly string[] = []): string {
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(folder, name), text);
  const tsc = require.resolve('@typescript/native-preview/package.json').replace('package.json', 'bin/tsgo');
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--module', 'nodenext', '--target', 'es2023'];
  const args = [tsc, ...strict, '--types', 'node', ...options, ...Object.keys(programs)];
  return spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' }).stdout;
}

/** What a program prints. */
const run = (name: string): string =>
  execFileSync(process.execPath, [name], {
    cwd: folder,
    encoding: 'utf8',
    env: { HOME: folder, PATH: process.env.PATH },
  });

const refused = `try {
    connect({ agent: 'nobody' });
  } catch (error) {
    console.log(error instanceof CaiError && error.code);
  }`;

test('can be imported by both kinds of modules in TypeScript, with types that need no others', () => {
  const text = `import { connect, serve, serveBytes, CaiError, type AnyMessage, type ByteStream, type ConnectOptions, type FailureCode } from 'containai';
  const options: ConnectOptions = { agent: 'claude', agentArgs: ['a'], cwd: '/', env: process.env, direct: true };
  export async function use(): Promise<AnyMessage | undefined> {
    const connection = connect(options);
    await connection.writable.getWriter().write({ jsonrpc: '2.0', id: 1, method: 'initialize' });
    const { value } = await connection.readable.getReader().read();
    const closed: Promise<void> = connection.close();
    serve(connection).close();
    serveBytes(new TransformStream() satisfies ByteStream, options).closed;
    await Promise.all([closed, connection.closed]);
    return value;
  }
  const expected: FailureCode = 'UNSUPPORTED_AGENT';
  ${refused.replace('console.log(', 'console.log(expected, ')}`;

  expect(compile({ 'program.mts': text, 'program.cts': text })).toBe('');
  for (const built of ['program.mjs', 'program.cjs'])
    expect(run(built)).toBe('UNSUPPORTED_AGENT UNSUPPORTED_AGENT\n');
});

test('can be required', () => {
  writeFileSync(
    join(folder, 'required.cjs'),
    `const { connect, CaiError } = require('containai');\n${refused}`,
  );

  expect(run('required.cjs')).toBe('UNSUPPORTED_AGENT\n');
});

test('gives a connection that fits the SDK, also in the example of the documentation; the compiler sees what does not', () => {
  const text = `import { client } from '@agentclientprotocol/sdk';
    import { connect } from 'containai';
    client({ name: 'x' }).connect(connect({ agent: 'claude' }));
    // @ts-expect-error -- a promise is no stream
    client({ name: 'x' }).connect(connect().closed);
    // @ts-expect-error -- there is no such option
    connect({ agnt: 'claude' });
  `;

  const page = readFileSync(join(repository, 'docs/embedding.md'), 'utf8');
  const [, example] = /```js\n(.*?)```/s.exec(page)!;

  expect(example).toContain('connect(');
  const programs = { 'client.mts': text, 'example.mts': example! };
  expect(compile(programs, ['--noEmit', '--skipLibCheck'])).toBe('');
});

test('starts the programs of the package that it lies in', () => {
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  const text = `import { client } from '@agentclientprotocol/sdk';
    import { connect } from 'containai';
    const connection = connect({ agent: 'claude', env: { ...process.env, DOCKER_HOST: 'unix:///nowhere' } });
    const { agent } = client({ name: 'x' }).connect(connection);
    await agent.request('initialize', { protocolVersion: 1 });
    const opened = agent.request('session/new', { cwd: ${JSON.stringify(workspace)}, mcpServers: [] });
    console.log((await opened.catch((error) => error)).message);
    await connection.close();`;
  writeFileSync(join(folder, 'contained.mjs'), text);
  mkdirSync(join(folder, '.config/containai'), { recursive: true });
  writeFileSync(join(folder, '.config/containai/config.toml'), '[restart]\nfirst_delay = "0s"\n');

  expect(run('contained.mjs')).toContain('unix:///nowhere');
});
