import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { authorityOf, identityFor } from '../../src/network/keys/authority';
import { serviceOf } from '../../src/network/keys/services';
import { newFolder } from '../support/temp-folder';
import { Editor } from './editor';
import { containerOf } from './inside';
import { provideImages } from './model';
import { buildTimeoutMs, Place } from './place';
import { Cai, docker, folder, newWorkspace, ownFile } from './support';

/** Put together at run time, so that no file of the tests has it. */
const key = ['real', 'key', process.pid, 'of-the-user'].join('-');
const modelProgram = resolve(__dirname, '../../fixtures/fake-model/fake-model.mjs');
const hosts = ['api.anthropic.com', 'generativelanguage.googleapis.com'];

/** The model behind TLS, on the port of HTTPS of this machine's loopback address. */
let model: ChildProcess;
let front: Server;
/** The heads of all requests that came there. */
let heads = '';

const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? describe : describe.skip;

asRoot(isRoot ? 'keys' : 'keys (needs root, to listen on port 443)', () => {
  beforeAll(async () => {
    await provideImages('claude', 'gemini');
    const world = await authorityOf(newFolder());
    model = spawn(process.execPath, [modelProgram], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [line] = (await once(model.stdout!, 'data')) as [Buffer];
    const { port } = JSON.parse(String(line)) as { port: number };
    const [first, second] = await Promise.all(hosts.map((host) => identityFor(host, world)));
    front = createServer(first!, (socket) => {
      socket.on('data', (chunk: Buffer) => (heads += chunk.toString('latin1')));
      const far = connect(port, '127.0.0.1');
      socket
        .on('error', () => far.destroy())
        .pipe(far)
        .on('error', () => socket.destroy())
        .pipe(socket);
    });
    front.addContext(hosts[1]!, second!);
    front.listen(443, '127.0.0.1');
    await once(front, 'listening');
    const { CAI_TEST_CA_FILE: machines } = process.env;
    const file = join(folder, 'world.pem');
    ownFile(file, `${machines === undefined ? '' : readFileSync(machines, 'utf8')}\n${world.cert}`);
    process.env.CAI_TEST_CA_FILE = file;
  }, buildTimeoutMs);

  afterAll(() => {
    front.close();
    model.kill();
  });

  beforeEach(() => (heads = ''));

  /** `cai` of a user who has the key in the environment of the editor. `address`: where the hosts are. */
  function caiWithKey(service: string, address = 'host-gateway'): Cai {
    return new Cai(`[container]
extra_hosts = ${JSON.stringify(hosts.map((host) => `${host}:${address}`))}
[env]
import = ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
[[credentials]]
for = "${service}"
from = "env:KEY_OF_THE_USER"
`);
  }

  const env = { KEY_OF_THE_USER: key, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };

  /** Everything inside that has the key: processes and files, of which at least those are seen that have the placeholder. */
  async function foundInside(place: Place, agent: string, placeholder: string): Promise<string> {
    const script = `found() { grep -rlF "$1" /home /tmp /run /etc /var "$PWD" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; }
key=$(cat); found "$key" | grep -v "/$$/"; found ${placeholder} > /tmp/placeholder-found; test -s /tmp/placeholder-found`;
    return (
      await place.run(['sh', '-c', script], { options: ['--agent', agent], input: key })
    ).stdout.toString();
  }

  describe.each([
    ['claude', 'anthropic', 'X-Api-Key'],
    ['gemini', 'google', 'x-goog-api-key'],
  ])('%s with a key of %s that stays on this machine', (agent, service, header) => {
    test('finishes a turn, and the key is nowhere inside', async () => {
      const cai = caiWithKey(service);
      const workspace = newWorkspace();
      const place = new Place(cai, workspace);
      const editor = await Editor.open(cai, agent, { cwd: workspace, env });
      const session = await editor.newSession(workspace);

      const answer = await editor.prompt(session, '[[shell touch made-by-shell]]');

      expect(answer).toMatchObject({ result: { stopReason: 'end_turn' } });
      expect(existsSync(join(workspace, 'made-by-shell'))).toBe(true);
      expect(heads.toLowerCase()).toContain(`${header.toLowerCase()}: ${key}\r\n`);
      const { placeholder } = serviceOf({ for: service });
      expect(heads).not.toContain(placeholder);
      expect(await foundInside(place, agent, placeholder)).toBe('');
      const id = await containerOf(workspace, agent);
      const seen = [
        await docker('inspect', id),
        await docker('logs', id),
        await docker('top', id, '-eo', 'pid,args'),
      ];
      expect(seen.filter((text) => text.includes(key))).toEqual([]);
    });
  });

  describe('a command with a key that stays on this machine', () => {
    test('has it put in for that host alone, whatever it tries', async () => {
      const place = new Place(caiWithKey('anthropic'), newWorkspace());
      const options = { env, options: ['--agent', 'claude'] };
      const curl = 'curl -sS -o /dev/null -w "%{http_code}\\n" -H "X-Api-Key: $ANTHROPIC_API_KEY"';

      const { stdout } = await place.run(
        [
          'sh',
          '-c',
          `${curl} https://api.anthropic.com/v1/messages; ${curl} -X TRACE https://api.anthropic.com/; ${curl} https://${hosts[1]}/`,
        ],
        options,
      );

      // The model knows neither GET nor that host's key.
      expect(stdout.toString()).toMatch(/^\d{3}\n400\n(403|000)\n$/);
      expect(heads.split(key)).toHaveLength(2);
    });

    test('is told that its host cannot be reached while it still sends, and goes on', async () => {
      // Nobody listens there.
      const place = new Place(caiWithKey('anthropic', '127.0.0.2'), newWorkspace());
      const curl = 'curl -sS -H Expect: -T . https://api.anthropic.com/v1/messages </tmp/body';
      const script = `mkfifo /tmp/body; ${curl} & exec 3>/tmp/body; echo begun >&3; wait; echo goes on`;

      const { status, stdout } = await place.run(['sh', '-c', script], {
        env,
        options: ['--agent', 'claude'],
      });

      expect(stdout.toString()).toMatch(/^cai: api\.anthropic\.com:443 broke off .*\ngoes on\n$/);
      expect(status).toBe(0);
    });

    test('is told why it cannot be had', async () => {
      const place = new Place(caiWithKey('anthropic'), newWorkspace());

      const { stdout } = await place.run(['curl', '-sS', 'https://api.anthropic.com/'], {
        options: ['--agent', 'claude'],
      });

      expect(stdout.toString()).toBe(
        'cai: the key for anthropic cannot be had from env:KEY_OF_THE_USER: no key is there\n',
      );
    });
  });
});
