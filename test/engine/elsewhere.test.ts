/** Engines on other machines, which `machines.sh` makes: by ssh and by TLS, and what comes of their ends. */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { killIfThere } from '../agents/leftovers';
import { agent, hostileConfig } from '../escape/hostile-agent';
import { Editor } from './editor';
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { buildTimeoutMs, Place } from './place';
import { commandOf } from '../support/processes';
import { Cai, docker, folder, newWorkspace, ownFile, ownFolder, user } from './support';

const state = process.env.CAI_TEST_MACHINES;
const isThere = state !== undefined && process.getuid?.() === 0;
const [first, second] = ['ssh://cai-machine-1', 'ssh://cai-machine-2'];

/** Docker's own command line, for the engine of a machine. */
const dockerAt = (host: string, ...args: string[]): Promise<string> => docker('--host', host, ...args);

/** A user whose engine is on another machine. */
function userOf(host: string, shares: readonly string[] = [folder], more = ''): Cai {
  const cai = new Cai(`${hostileConfig()}[engine]\nshares = ${JSON.stringify(shares)}\n${more}`);
  cai.env.DOCKER_HOST = host;
  return cai;
}

const placeOf = (cai: Cai, workspace = newWorkspace()): Place =>
  new Place(cai, workspace, ['--agent', agent]);

/** Ids of the containers of a workspace there. */
async function containersAt(host: string, workspace: string): Promise<string[]> {
  const filter = `label=containai.workspace=${workspace}`;
  return (await dockerAt(host, 'ps', '--all', '--quiet', '--filter', filter)).split('\n').filter(Boolean);
}

/** The processes that `ssh` was started as by this user: for a request, and the one that all share. */
function sshOf(cai: Cai): { pid: number; isShared: boolean }[] {
  const commands = readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((pid) => [Number(pid), commandOf(pid)] as const); // prettier-ignore
  const own = commands.filter(([, command]) => /^ssh\b/.test(command) && command.includes(`${cai.home}/`));
  return own.map(([pid, command]) => ({ pid, isShared: command.includes('[mux]') }));
}

const machines = (...args: string[]): void => {
  execFileSync(join(__dirname, 'machines.sh'), args, { stdio: 'inherit' });
};

(isThere ? describe : describe.skip)('an engine on another machine (needs machines.sh, and root)', () => {
  /** The machines have the agent's image then, too. */
  async function sendImage(name: string): Promise<void> {
    await provideImages(name);
    const image = `containai:${name}`;
    const label = '{{index .Config.Labels "containai.environment"}}';
    // The environment is below the image, and so no more to send: else it would be built there, too.
    const images = [image, await docker('image', 'inspect', '--format', label, image)];
    const idsIn = ['image', 'inspect', '--format', '{{.Id}}', ...images];
    const here = await docker(...idsIn);
    for (const host of [first, second]) {
      const there = await dockerAt(host, ...idsIn).catch(() => undefined);
      if (here === there) continue;
      const script = 'host=$1; shift; docker save "$@" | docker --host "$host" load';
      await promisify(execFile)('sh', ['-c', script, 'sh', host, ...images, 'node:22-bookworm-slim']);
    }
  }

  beforeAll(() => sendImage(agent), buildTimeoutMs);

  afterAll(async () => {
    for (const host of [first, second]) {
      const ids = (await dockerAt(host, 'ps', '--all', '--quiet')).split('\n').filter(Boolean);
      if (ids.length > 0) await dockerAt(host, 'rm', '--force', '--volumes', ...ids);
    }
  });

  test('runs commands with their streams, in a folder of here', async () => {
    const place = placeOf(userOf(first));
    const { status, stdout, stderr } = await place.run(
      ['sh', '-c', 'cat; echo bad >&2; pwd > file; exit 7'],
      {
        input: 'in',
      },
    );

    expect({ status, stdout: stdout.toString(), stderr }).toEqual({
      status: 7,
      stdout: 'in',
      stderr: 'bad\n',
    });
    expect(readFileSync(join(place.workspace, 'file'), 'utf8')).toBe(`${place.workspace}\n`);
    expect(await containersAt(first, place.workspace)).toHaveLength(1);
    expect(await place.containers()).toEqual([]);
  });

  test('moves much in both directions', async () => {
    const place = await placeOf(userOf(first)).opened();
    const much = Buffer.alloc(16 * 2 ** 20, 'x');

    const { stdout } = await place.run(['cat'], { input: much });

    expect(stdout.equals(much)).toBe(true);
  });

  test('is reached by one ssh for all, and by none after that but the one that is shared', async () => {
    const cai = userOf(first);
    const places = [placeOf(cai), placeOf(cai)];
    await Promise.all(places.map((place) => place.prints(['true'])));

    while (sshOf(cai).some(({ isShared }) => !isShared)) await pause(20);
    expect(sshOf(cai)).toHaveLength(1);
    expect(await places[0]!.prints(['echo', 'again'])).toBe('again');
    expect(sshOf(cai).filter(({ isShared }) => isShared)).toHaveLength(1);
  });

  test('is reached by TLS, for who has a certificate', async () => {
    const endpoint = 'tcp://10.211.48.6:2376';
    const cai = userOf(endpoint);
    const certificates = join(cai.home, '.docker');
    const files = { 'ca.pem': 'ca.pem', 'cert.pem': 'client.pem', 'key.pem': 'client-key.pem' };
    ownFolder(certificates);
    chmodSync(certificates, 0o700);
    for (const [name, from] of Object.entries(files))
      ownFile(join(certificates, name), readFileSync(join(state!, 'tls', from)));
    const place = placeOf(cai);

    const plain = await place.run(['true']);
    cai.env.DOCKER_TLS_VERIFY = '1';
    const id = await place.prints(['id', '-u']);
    ownFile(join(certificates, 'cert.pem'), '');
    const without = await place.run(['true']);

    expect(plain.stderr).toContain('whoever is on the way there could read and change everything');
    expect(id).toBe(String(user.uid));
    expect(without.status).not.toBe(0);
    expect(without.stderr).toMatch(/^cai: the engine at tcp:\/\/10\.211\.48\.6:2376 /);
  });

  test('builds images there', async () => {
    const dockerfile = join(folder, 'Dockerfile');
    writeFileSync(dockerfile, 'ARG CAI_IMAGE\nFROM ${CAI_IMAGE}\nRUN echo built > /built\n');
    // Not the agent of the other tests, which would have this image from then on.
    const config = `[image]\ndockerfile = ${JSON.stringify(dockerfile)}\n[agents.elsewhere]\ncommand = ["true"]\n`;
    const cai = userOf(first, [folder], config);

    const built = await cai.run(['build', 'elsewhere'], { limitMs: buildTimeoutMs });

    expect(built).toMatchObject({ status: 0 });
    const place = new Place(cai, newWorkspace(), ['--agent', 'elsewhere']);
    expect(await place.prints(['cat', '/built'])).toBe('built');
  }, buildTimeoutMs); // prettier-ignore

  test('is told by doctor, with its machine', async () => {
    const place = await placeOf(userOf(first)).opened();
    const { stdout } = await place.cai.run(['doctor', '--workspace', place.workspace, '--agent', agent]);

    expect(stdout.toString()).toMatch(/^ok +engine .*, on another machine: cai-machine-1$/m);
    expect(stdout.toString()).toMatch(/^ok +shares .* are the same on cai-machine-1 as here$/m);
  });

  describe('has no folder', () => {
    test('outside of the shares', async () => {
      const place = placeOf(userOf(first, [join(folder, 'other')]));
      const { status, stderr } = await place.run(['true']);

      expect(status).toBe(2);
      expect(stderr).toContain('is on another machine, where that may be another folder');
      expect(await containersAt(first, place.workspace)).toEqual([]);
    });

    test('that is another one there, where nothing is written', async () => {
      const [here, there] = [join(state!, 'other/app'), join(state!, '1/other/app')];
      for (const each of [here, there]) mkdirSync(each, { recursive: true });
      execFileSync('chown', [String(user.uid), here, there]);
      const place = placeOf(userOf(first, [join(state!, 'other')]), here);
      const { status, stderr } = await place.run(['touch', 'file']);

      expect(status).toBe(2);
      expect(stderr).toContain(
        `"${here}" is not the same on the machine of the engine, cai-machine-1, as here`,
      );
      expect(readdirSync(there)).toEqual([]);
    });
  });

  describe('has agents', () => {
    const steps = (...scripts: string[]): string => JSON.stringify(scripts.map((sh) => ({ sh })));

    /** What a turn says when it runs a script. */
    async function says(editor: Editor, session: string, script: string): Promise<string> {
      const { error } = await editor.prompt(session, steps(script));
      if (error !== undefined) throw new Error(JSON.stringify(error));
      return editor.said(session);
    }

    /** A turn in which something happens while its script runs. */
    async function during(editor: Editor, session: string, cwd: string, action: () => void) {
      const turn = editor.prompt(session, steps('touch begun; sleep 600'));
      while (!readdirSync(cwd).includes('begun')) await pause(20);
      action();
      const beganAt = performance.now();
      const { error } = await turn;
      return { error, tookMs: performance.now() - beganAt };
    }

    test('in two workspaces at once, on each of two machines', async () => {
      for (const host of [first, second]) {
        const [one, other] = [newWorkspace(), newWorkspace()];
        const editor = await Editor.open(userOf(host), agent, { cwd: one });
        const sessions = await Promise.all([one, other].map((cwd) => editor.newSession(cwd)));

        const said = await Promise.all(sessions.map((session) => says(editor, session, 'pwd; touch mine')));

        expect(said.map((text, index) => text.includes([one, other][index]!))).toEqual([true, true]);
        for (const cwd of [one, other]) {
          expect(readdirSync(cwd)).toContain('mine');
          expect(await containersAt(host, cwd)).toHaveLength(1);
        }
        editor.proxy.child.stdin.end();
        await editor.proxy.ends();
      }
    });

    const killSsh = (cai: Cai): void => {
      for (const { pid } of sshOf(cai)) killIfThere(pid);
    };
    test(
      'of Claude, on two machines at once: a permission, a command, a cancelled turn, and one after all ssh were killed',
      async () => {
        await sendImage('claude');
        await Promise.all(
          [first, second].map(async (host) => {
            const cai = new Cai(`${modelConfig}[engine]\nshares = ${JSON.stringify([folder])}\n`);
            cai.env.DOCKER_HOST = host;
            const cwd = newWorkspace();
            await startModel(cai, cwd, 'claude');
            const editor = await Editor.open(cai, 'claude', { cwd, env: modelEnv });
            const session = await editor.newSession(cwd);
            const stops = async (text: string) =>
              ((await editor.prompt(session, text)).result as { stopReason?: string } | undefined)
                ?.stopReason;

            expect(await stops('[[write note by-claude]] [[shell pwd > made]]')).toBe('end_turn');
            expect(readFileSync(join(cwd, 'note'), 'utf8')).toBe('by-claude\n');
            expect(readFileSync(join(cwd, 'made'), 'utf8')).toBe(`${cwd}\n`);
            const slow = stops('[[slow]]');
            await editor.hears(session, 'slow-1');
            editor.notify('session/cancel', { sessionId: session });
            expect(await slow).toBe('cancelled');

            killSsh(cai);
            await startModel(cai, cwd, 'claude');
            expect(await stops('[[shell touch after]]')).toBe('end_turn');
            expect(readdirSync(cwd)).toContain('after');
            expect(await containersAt(host, cwd)).toHaveLength(1);
            editor.proxy.child.stdin.end();
            await editor.proxy.ends();
          }),
        );
      },
      buildTimeoutMs,
    );

    const killEngine = (): void => {
      machines('kill-engine', '1');
      machines('start-engine', '1');
    };

    test.each([
      ['every ssh is killed', killSsh],
      ['the engine is killed, and started again', killEngine],
    ])('whose turn fails once when %s, and whose next one goes on', async (_, damage) => {
      const cwd = newWorkspace();
      const cai = userOf(first);
      const editor = await Editor.open(cai, agent, { cwd });
      const session = await editor.newSession(cwd);
      await says(editor, session, 'true');

      const { error, tookMs } = await during(editor, session, cwd, () => damage(cai));

      expect(error).toMatchObject({ code: -32603 });
      expect(tookMs).toBeLessThan(10_000);
      expect(await says(editor, session, 'echo back')).toContain('back');
      editor.proxy.child.stdin.end();
      await editor.proxy.ends();
    });
  });
});
