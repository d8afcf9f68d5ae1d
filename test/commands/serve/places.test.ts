import { request } from 'node:http';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { execFileSync } from 'node:child_process';
import { cai } from '../../support/cli';
import { certificate } from '../../support/certificate';
import { servedInEachTest } from '../../support/served';
import { newFolder } from '../../support/temp-folder';

const start = servedInEachTest();

const { certFile, keyFile } = certificate();
const withCertificate = ['--tls-cert', certFile, '--tls-key', keyFile];

test("the user's socket is there besides what is named, and says so", async () => {
  const server = await start({ listen: ['127.0.0.1:0', 'tcp://127.0.0.1:0'] });
  await server.said(/serving/);
  const [, , socket] = server.addresses;
  expect(socket).toBe(`unix:${server.stateFolder}/containai/serve/serve.sock`);
  const asked = request({ socketPath: socket!.replace('unix:', ''), path: '/metrics' }).end();
  const [{ statusCode }] = (await once(asked, 'response')) as [{ statusCode: number }];

  expect(statusCode).toBe(200);
});

test('a second server says that the first one has the socket', async () => {
  const first = await start();
  const env = { HOME: first.home };
  const second = await start({ env });
  await second.said(/serving/);

  expect(second.addresses).toHaveLength(1);
  expect(second.stderr).toContain('do not find this server: another cai serve listens on');
});

test('the configuration names addresses, and --listen others in their place', async () => {
  const config = '[serve]\nlisten = ["127.0.0.1:0", "unix:run/here.sock"]';
  const server = await start({ config, listen: [] });
  await server.said(/serving/);
  expect(server.addresses[0]).toMatch(/^http:\/\/127.0.0.1:\d+$/);
  expect(server.addresses[1]).toBe(`unix:${server.home}/.config/containai/run/here.sock`);

  const other = await start({ config, listen: ['tcp://127.0.0.1:0'] });
  expect(other.addresses[0]).toMatch(/^tcp:/);
});

test('chat panels are answered where they look, if no address is named', async () => {
  const other = createServer();
  // Where somebody else has the port, that does as well.
  await once(other.listen(37842, '127.0.0.1'), 'listening').catch(() => undefined);
  const args = ['--chat', newFolder()];

  await expect(start({ listen: [], args })).rejects.toThrow('cannot listen on 127.0.0.1:37842');
  const config = '[serve]\nlisten = ["tcp://127.0.0.1:0"]';
  expect((await start({ listen: [], args, config })).addresses[0]).toMatch(/^tcp:/);
  expect((await start({ args, config })).addresses[0]).toMatch(/^http:/);
  other.close();
});

test('with a certificate, what others can reach is https; one that is not used is told', async () => {
  const server = await start({ listen: ['0.0.0.0:0'], args: withCertificate });
  expect(server.url).toMatch(/^https:\/\/0.0.0.0:/);
  await server.said(/serving.*\n/);
  expect(server.stderr).not.toContain('certificate');

  const unused = await start({ args: withCertificate });
  expect(unused.url).toMatch(/^http:\/\/127/);
  await unused.said(/the certificate is not used/);
  await expect(start({ listen: ['http://0.0.0.0:0'], args: withCertificate })).rejects.toThrow(
    'listen by https:// instead of http://',
  );
});

test('behind a proxy a certificate changes no address', async () => {
  const server = await start({ listen: ['0.0.0.0:0'], args: [...withCertificate, '--behind-proxy'] });

  expect(server.url).toMatch(/^http:\/\/0.0.0.0:/);
});

test('a request for another name is told the line that lets it in', async () => {
  const server = await start();
  const { port } = new URL(server.url);
  const headers = { ...server.owner, host: `box.example:${port}` };
  const asked = request(`${server.url}/metrics`, { headers }).end();
  const [answer] = (await once(asked, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  let text = '';
  for await (const chunk of answer) text += String(chunk);

  expect(answer.statusCode).toBe(421);
  expect(text).toContain(`put hosts = ["box.example:${port}"] below [serve] in the server's config.toml`);
});

test('a link to the server that was told where to listen', async () => {
  const server = await start();
  await server.said(/serving/);
  const env = { PATH: process.env.PATH, HOME: server.home };
  const link = execFileSync(process.execPath, [cai, 'serve', 'link'], { env, stdio: 'pipe' }).toString();

  expect(link).toMatch(new RegExp(`^${server.url}/#ticket=`));
});
