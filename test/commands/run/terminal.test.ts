import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Host } from '../../../src/system/host';
import { writeToken } from '../../../src/agent/editor-token';
import { runCli } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

const order = { kind: 'command', agent: 'claude', workspace: undefined, argv: ['true'], env: [] } as const;

describe('cai terminal', () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(() => {
    folder = newFolder();
    env = { HOME: folder };
  });

  test.each([
    ['no token', [], /is for editors.*cai exec COMMAND/],
    ['more than a token', ['a'.repeat(32), 'rm'], /is for editors/],
    ['something else', ['--help'], /no token.*Only the editor can run this/],
    ['a token that nobody was given', ['a'.repeat(32)], /unknown/],
  ])('explains itself for %s', async (_, args, text) => {
    const { status, stdout, stderr } = await runHere(['terminal', ...args], { env });

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(text);
  });

  test('looks for the engine where the writer of the token has it, and takes the token once', async () => {
    const token = writeToken(new Host({ ...env, DOCKER_HOST: 'unix:///nowhere/docker.sock' }), order);
    const other = { ...env, DOCKER_HOST: 'unix:///elsewhere/docker.sock', XDG_CONFIG_HOME: '/elsewhere' };

    const first = await runCli(['terminal', token], { env: other });
    const second = await runCli(['terminal', token], { env: other });

    expect(first).toMatchObject({ status: 11, stdout: '' });
    expect(first.stderr).toMatch(/^cai: .*unix:\/\/\/nowhere\/docker\.sock/s);
    expect(second).toMatchObject({ status: 2, stdout: '' });
    expect(second.stderr).toMatch(/used before/);
  });

  describe('whose proxy was killed', () => {
    /** A proxy, as far as a terminal sees one, and how the order names it. */
    const proxyOf = () => {
      const proxy = spawn('sleep', ['60']);
      const stat = readFileSync(`/proc/${proxy.pid}/stat`, 'latin1').split(' ');
      return { proxy, wantedBy: `${proxy.pid}.${stat[21]}` };
    };

    test('runs nothing', async () => {
      const { proxy, wantedBy } = proxyOf();
      proxy.kill('SIGKILL');
      await once(proxy, 'exit');

      const token = writeToken(new Host(env), { ...order, wantedBy });
      const { status, stderr } = await runCli(['terminal', token], { env });

      expect(status).toBe(2);
      expect(stderr).toMatch(/is gone/);
    });

    test('ends, although the editor that has started it lives', async () => {
      const { proxy, wantedBy } = proxyOf();
      // An engine that never answers.
      const engine = createServer(() => void proxy.kill('SIGKILL')).listen(join(folder, 'engine.sock'));
      await once(engine, 'listening');

      const token = writeToken(new Host({ ...env, DOCKER_HOST: `unix://${join(folder, 'engine.sock')}` }), {
        ...order,
        wantedBy,
      });
      const { status } = await runCli(['terminal', token], { env });
      engine.closeAllConnections();
      engine.close();

      expect({ status, isKilled: proxy.killed }).toEqual({ status: 129, isKilled: true });
    });
  });
});
