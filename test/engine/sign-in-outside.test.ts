/** Sign-ins that stay on this machine, with the agents' own programs: containers have placeholders alone. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Editor } from './editor';
import { isNightly, tried } from '../support/nightly';
import { provideImages } from './model';
import { buildTimeoutMs } from './place';
import { signInWays } from './sign-in-ways';
import { SignInWorld } from './sign-in-world';
import { Cai, docker, newWorkspace, ownFile, user } from './support';

const reply = 'said by the model';
/** What agents say to somebody who is not signed in. */
const signedOut = /Authentication required|could not be refreshed|key is missing/;
const world = new SignInWorld('127.0.0.2');
const triedWays = tried(signInWays.slice(0, -1), signInWays.slice(-1));
const isRoot = process.getuid?.() === 0;
const asRoot = isRoot ? describe : describe.skip;

asRoot(isRoot ? 'a sign-in' : 'a sign-in (needs root, to listen on port 443)', () => {
  beforeAll(() => world.open());
  afterAll(() => world.close());
  beforeEach(() => world.asked.splice(0));

  describe.each(triedWays)('to $agent', ({ agent, signIn, renewal, model, age }) => {
    let cai: Cai;
    const [workspace, other] = [newWorkspace(), newWorkspace()];
    const record = () =>
      join(cai.env.XDG_STATE_HOME!, 'containai/credentials/sign-ins', agent, 'all-workspaces.json');
    const renewals = () => world.at(renewal ?? '').filter(({ body }) => /"?refresh_token"?[=:]/.test(body));

    beforeAll(async () => {
      // Gemini CLI asks there for the user's name, and does without it.
      cai = new Cai(
        `deny = ["www.googleapis.com"]\n[container]\nextra_hosts = ${JSON.stringify(world.extraHosts)}\n`,
      );
      await provideImages(agent);
    }, buildTimeoutMs);

    /** Runs a shell command in the container of a workspace; what it prints. `undefined`: the one without a workspace. */
    async function sayIn(folder: string | undefined, command: string, input = ''): Promise<string> {
      const place = folder === undefined ? ['--no-workspace'] : ['--workspace', folder];
      const args = ['exec', '--quiet', ...place, '--agent', agent, '--', 'sh', '-c', command];
      const { status, stdout, stderr } = await cai.run(args, { input });
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      return stdout.toString();
    }

    /** Files and processes in there that have one of these texts. */
    async function foundIn(folder: string | undefined, ...texts: readonly string[]): Promise<string> {
      const script = `texts=$(cat); printf %s "$texts" | grep -rlFf - /home /tmp /run /etc /var "$PWD" /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; true`;
      return await sayIn(folder, script, texts.join('\n'));
    }

    /** What the engine has on record of all containers of the agent, and their logs. */
    async function engineRecords(): Promise<string> {
      const filters = [`label=containai.user=${user.uid}`, `label=containai.agent=${agent}`];
      const ids = await docker('ps', '--all', '--quiet', ...filters.flatMap((each) => ['--filter', each]));
      const seen = ids
        .split('\n')
        .map((id) => [docker('inspect', id), docker('logs', id), docker('top', id, '-eo', 'pid,args')]);
      return (await Promise.all(seen.flat())).join('\n');
    }

    /** Begins a session and has a turn; what the agent says, or why there is none. */
    async function turn(folder: string): Promise<string> {
      const editor = await Editor.open(cai, agent, { cwd: folder });
      const opened = await editor.request('session/new', { cwd: folder, mcpServers: [] });
      const { sessionId } = (opened.result ?? {}) as { readonly sessionId?: string };
      const ended = sessionId === undefined ? opened : await editor.prompt(sessionId, 'hello');
      editor.proxy.child.stdin.end();
      await editor.proxy.ends();
      return ended.error === undefined ? editor.said(sessionId!) : JSON.stringify(ended.error);
    }

    test('leaves its tokens on this machine', async () => {
      const login = cai.startInTerminal(['login', agent]);
      await signIn(login, world);
      await login.succeeds();

      const kept = readFileSync(record(), 'utf8');
      expect(statSync(record()).mode & 0o777).toBe(0o600);
      expect(world.given.filter((token) => kept.includes(token))).not.toEqual([]);
      expect(await foundIn(undefined, 'caiplaceholder')).not.toBe('');
      expect(await foundIn(undefined, ...world.given)).toBe('');
      const seen = login.stdout.toString() + (await engineRecords());
      expect(world.given.filter((token) => seen.includes(token))).toEqual([]);
    });

    // The program of Gemini takes half of the time of all of this.
    const isBrief = agent === 'gemini' && !isNightly;
    if (!isBrief)
      test('is one for a workspace that is opened later', async () => {
        expect(await turn(workspace)).toContain(reply);

        expect(world.at(model).map(({ status }) => status)).toContain(200);
        expect(renewals()).toEqual([]);
      });

    if (renewal !== undefined && !isBrief)
      test('is renewed once where two workspaces need it', async () => {
        const kept = JSON.parse(readFileSync(record(), 'utf8')) as object;
        ownFile(record(), JSON.stringify({ ...kept, expiresAt: 1 }));
        world.endAccess();
        if (age !== undefined) await sayIn(workspace, age);

        expect(await Promise.all([turn(workspace), turn(other)])).toEqual([reply, reply].map((each) => expect.stringContaining(each) as string)); // prettier-ignore

        expect(renewals().map(({ status }) => status)).toEqual([200]);
        for (const each of [workspace, other]) expect(await foundIn(each, ...world.given)).toBe('');
      });

    test('ends for all workspaces', async () => {
      expect(existsSync(record())).toBe(true);

      const logout = await cai.run(['logout', agent, '--yes']);

      expect(logout).toMatchObject({ status: 0 });
      expect(existsSync(record())).toBe(false);
      expect(await turn(workspace)).toMatch(signedOut);
      expect(world.at(model).filter(({ status }) => status === 200)).toEqual([]);
    });
  });
});
