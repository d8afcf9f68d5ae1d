import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { greet, engineClient } from '../../../../../src/container/engine/docker/client';
import { SshAgent } from '../../../../../src/container/engine/docker/elsewhere/ssh-agent';
import { Host } from '../../../../../src/system/host';
import { isAlive } from '../../../../../src/system/process-identity';
import { newFolder } from '../../../../support/temp-folder';

const target = { host: 'build' };
const address = { context: 'default', endpoint: 'ssh://build', isElsewhere: true, ssh: target, options: { protocol: 'http', host: 'localhost' } } as const; // prettier-ignore
const answer = String.raw`HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nContent-Length: 2\r\n\r\nOK`;
let folder: string;
let host: Host;

/** A script that stands for ssh; `$program` is what would be started there. Each notes its process id. */
function playSsh(script: string): void {
  const file = join(folder, 'ssh');
  const head = `#!/bin/sh\necho $$ >> ${folder}/pids\nfor program; do case $program in docker | podman) break;; esac; done\n`;
  writeFileSync(file, head + script);
  chmodSync(file, 0o755);
}

/** Answers each request, which it does not look at beyond its first line. */
const answers = `while read -r line; do [ "\${line%HTTP/1.1?}" = "$line" ] || printf '${answer}'; done`;

const pids = (): number[] => readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n').map(Number);

function modemOf() {
  return engineClient(address, host).modem as unknown as Parameters<typeof greet>[0] & { agent: SshAgent };
}

async function get(agent: SshAgent): Promise<string> {
  const [response] = (await once(request({ agent, path: '/' }).end(), 'response')) as [IncomingMessage];
  return await text(response);
}

beforeEach(() => {
  folder = newFolder();
  host = new Host({
    PATH: `${folder}:${process.env.PATH}`,
    HOME: folder,
    XDG_STATE_HOME: join(folder, 'state'),
  });
});

test('requests after each other have one ssh, which ends with the agent', async () => {
  playSsh(answers);
  const agent = new SshAgent(target, host);

  expect(await get(agent)).toBe('OK');
  expect(await get(agent)).toBe('OK');

  expect(pids()).toHaveLength(1);
  agent.destroy();
  while (isAlive(pids()[0]!)) await new Promise(setImmediate);
});

test('an ssh that is killed in an answer fails the request at once, and the next has another', async () => {
  playSsh(
    `if [ -e ${folder}/again ]; then ${answers}; fi; touch ${folder}/again; printf 'HTTP/1.1 200 OK\\r\\n'; kill -9 $$`,
  );
  const agent = new SshAgent(target, host);

  await expect(get(agent)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(await get(agent)).toBe('OK');
  agent.destroy();
});

test('a stream is closed, with all that was said, when the engine there has gone', async () => {
  playSsh(
    String.raw`read -r line; printf 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nlast words'`,
  );
  const headers = { Connection: 'Upgrade', Upgrade: 'tcp' };
  const asked = request({ agent: new SshAgent(target, host), path: '/', headers }).end();

  const [, stream, head] = (await once(asked, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
  stream.unshift(head);
  const closed = once(stream, 'close');

  expect(await text(stream)).toBe('last words');
  await closed;
});

test('one that goes on for others holds up nothing', async () => {
  playSsh(
    'sleep 100 >/dev/null </dev/null & echo $! > "$0.other"; echo "Host key verification failed." >&2; exit 255',
  );
  const agent = new SshAgent(target, host);

  await expect(get(agent)).rejects.toThrow('the host key of its machine is not known');
  process.kill(Number(readFileSync(join(folder, 'ssh.other'), 'utf8')));
});

test('no ssh at all is told', async () => {
  host = new Host({ PATH: folder, HOME: folder, XDG_STATE_HOME: join(folder, 'state') });
  await expect(get(new SshAgent(target, host))).rejects.toThrow('there is no program ssh here');
});

describe('the program there', () => {
  test('is podman where there is no docker', async () => {
    playSsh(`[ $program = podman ] || { echo "sh: $program: not found" >&2; exit 127; }\n${answers}`);
    const modem = modemOf();

    expect(await greet(modem, address)).toEqual({ apiVersion: '1.41', isPodman: false });
    expect(pids()).toHaveLength(2);
    modem.agent.destroy();
  });

  test('is missed where there is neither', async () => {
    playSsh('exit 127');
    const modem = modemOf();

    await expect(greet(modem, address)).rejects.toMatchObject({
      code: 'NO_ENGINE',
      message: expect.stringMatching(/^the engine at ssh:\/\/build \(Docker context "default"\) cannot be reached: its machine has neither docker nor podman/) as string, // prettier-ignore
    });
    expect(existsSync(join(folder, 'state/containai/via/config'))).toBe(true);
  });

  test('is told apart from an account that prints something', async () => {
    playSsh('echo Welcome; cat >/dev/null');
    const modem = modemOf();

    await expect(greet(modem, address)).rejects.toThrow(
      'the account there must run commands, and print nothing by itself',
    );
    modem.agent.destroy();
  });
});
