import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Facts } from '../../../src/commands/doctor/checks';
import { offerMoves, signIns } from '../../../src/commands/doctor/sign-ins';
import { noRights } from '../../../src/container/engine/container-info';
import type { ContainerPlan, Engine, InnerEntry } from '../../../src/container/engine/engine';
import { dataFolder } from '../../../src/container/spec/mounts/mounts';
import { SignIns, type SignIn } from '../../../src/network/keys/kept-sign-in';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const claudeFile = `${dataFolder}/.claude/.credentials.json`;
const claude = JSON.stringify({
  claudeAiOauth: { accessToken: 'sk-ant-oat01-real', refreshToken: 'sk-ant-ort01-real', expiresAt: 5, scopes: ['a'] },
}); // prettier-ignore
const copilot = JSON.stringify({ authTokens: { one: { token: 'gho_real' } } });

/** A volume of ours, what is in it, and the state of the container that uses it. */
interface Given {
  /** Root of the workspace of its container. */
  readonly workspace?: string;
  readonly agent: string;
  readonly service?: string;
  readonly files?: Record<string, string>;
  readonly state?: string;
}

/** An engine with these volumes, which does what is asked with their files. */
class Volumes {
  readonly done: string[] = [];
  /** What the containers were made with. */
  readonly plans: ContainerPlan[] = [];
  /** Called before something is written. */
  onWrite = (): void => undefined;

  constructor(
    readonly all: Record<string, Given>,
    private readonly uid: number,
  ) {}

  listVolumes = () => Promise.resolve(Object.entries(this.all).map(([name, given]) => ({ name, labels: this.#labels(given) }))); // prettier-ignore

  listContainers = () =>
    Promise.resolve(
      Object.entries(this.all).flatMap(([name, given]) => {
        const { state, workspace = '' } = given;
        const mounts = [`volume ${name} ${dataFolder} rw`];
        const labels = {
          ...this.#labels(given),
          'containai.spec': JSON.stringify({ mounts }),
          'containai.workspace': workspace,
        };
        return state === undefined ? [] : [{ id: name, name: `of-${name}`, state, labels, createdAt: 1 }];
      }),
    );

  /** What a container of such a volume says. */
  read = (volume: string, path: string) => {
    const text = this.all[volume]!.files?.[path];
    return Promise.resolve(text === undefined ? undefined : { content: Buffer.from(text), mode: 0o640, uid: 7, gid: 8 }); // prettier-ignore
  };

  withVolume: Engine['withVolume'] = async (_name, plan, work) => {
    const volume = plan.mounts[0]!.source;
    this.plans.push(plan);
    this.done.push('create');
    const put = (entries: readonly InnerEntry[]) => {
      this.onWrite();
      for (const { path, is, ...owner } of entries) {
        expect(owner).toEqual({ mode: 0o640, uid: 7, gid: 8 });
        this.all[volume]!.files![path] = (is as { readonly file: string }).file;
      }
      this.done.push('write');
      return Promise.resolve();
    };
    const working = work({ read: (path) => this.read(volume, path), put });
    return await working.finally(() => this.done.push('remove'));
  };

  #labels = ({ agent, service }: Given) => ({
    'containai.managed': 'true',
    'containai.user': String(this.uid),
    'containai.agent': agent,
    ...(service !== undefined && { 'containai.service': service }),
  });
}

function given(all: Record<string, Given>, network = { egress: 'ask' }) {
  const home = newFolder();
  const host = new Host({ HOME: home, XDG_STATE_HOME: join(home, 'state') });
  const client = new Volumes(all, host.user.uid);
  const facts = {
    host,
    wanted: {},
    engine: { client: client as unknown as Engine, about: { isRootless: false } },
    configured: { config: { network, agent: { data: 'workspace' } }, settings: { hostUser: host.user } },
    image: { id: 'sha256:1' },
  } as unknown as Facts;
  const shared = new SignIns(host, { agent: 'claude', workspace: undefined, isForAll: true });
  const keep = (kept: SignIn) => shared.own.keep(kept);
  return { facts, client, host, kept: () => shared.own.read(), keep };
}

/** What is told on stderr while it runs, and what is asked. */
async function offered(facts: Facts, answer = true, before = (): void | Promise<void> => undefined) {
  const told: string[] = [];
  const write = jest.spyOn(process.stderr, 'write').mockImplementation((text) => told.push(String(text)) > 0);
  const asked: string[] = [];
  try {
    await offerMoves(facts, async (question) => {
      asked.push(question);
      await before();
      return answer;
    });
  } finally {
    write.mockRestore();
  }
  return { asked, told: told.join('') };
}

describe('the sign-ins inside', () => {
  test('are none where no volume of an agent that signs in is, and no image is needed then', async () => {
    const { facts, client } = given({ v: { agent: 'opencode' }, s: { agent: 'claude', service: 'db' } });
    facts.image = undefined;

    expect(await signIns(facts)).toEqual({ status: 'ok', detail: 'nobody has signed in' });
    expect(client.done).toEqual([]);
  });

  test('are looked for by containers that are not started, have nothing but the volume, and are removed', async () => {
    const { facts, client, host } = given({ v: { agent: 'claude' }, 'w-data': { agent: 'codex' } });

    expect(await signIns(facts)).toEqual({ status: 'ok', detail: 'nobody has signed in' });
    expect(client.done).toEqual(['create', 'remove', 'create', 'remove']);
    expect(client.plans[0]).toMatchObject({
      // Where such a container has to be started, it reads what agents have written.
      user: host.user.uid === 0 ? '1000:1000' : `${host.user.uid}:${host.user.gid}`,
      image: 'sha256:1',
      labels: { 'containai.managed': 'true', 'containai.agent': 'claude', 'containai.workspace': '' },
      rights: noRights,
      mounts: [{ source: 'v', target: dataFolder }],
    });
  });

  test('are told with the volume and the agent', async () => {
    const { facts } = given({
      v: { agent: 'claude', files: { [claudeFile]: claude } },
      'w-data': { agent: 'claude', files: { [claudeFile]: '{' } },
      'x-data': { agent: 'copilot', files: { [`${dataFolder}/.copilot/config.json`]: copilot } },
    });

    expect(await signIns(facts)).toEqual({
      status: 'warn',
      detail: 'claude is signed in inside the volume v\ncopilot is signed in inside the volume x-data',
      remedy: 'cai doctor in a terminal offers to move it out',
    });
  });

  test('are none where the engine cannot read the file', async () => {
    const { facts, client } = given({ v: { agent: 'claude' } });
    client.read = () => Promise.reject(new Error('too many links'));

    expect(await signIns(facts)).toMatchObject({ status: 'ok' });
    expect(client.done).toEqual(['create', 'remove']);
  });

  test('are nothing to warn of where they are meant to be inside', async () => {
    const { facts } = given({ v: { agent: 'claude', files: { [claudeFile]: claude } } }, { egress: 'open' });

    expect(await signIns(facts)).toBeUndefined();
  });

  test('cannot be looked for without an image', async () => {
    const { facts } = given({ v: { agent: 'claude' } });
    facts.image = undefined;

    await expect(signIns(facts)).rejects.toThrow('there is no image to look into volumes with');
  });
});

describe('a sign-in inside a volume', () => {
  const one = (more: Partial<Given> = {}) => ({ 'v': { agent: 'claude', files: { [claudeFile]: claude }, ...more } }); // prettier-ignore

  test('is kept on this machine where the user says so, and then has placeholders', async () => {
    const { facts, client, host, kept } = given(one({ state: 'exited' }));
    await signIns(facts);

    const { asked, told } = await offered(facts);

    expect(asked).toEqual([
      'claude is signed in inside the volume v, where every program of its containers can read that. Keep the sign-in on this machine instead, for all workspaces?',
    ]);
    expect(kept()).toMatchObject({ generation: 1, tokens: { access: 'sk-ant-oat01-real', refresh: 'sk-ant-ort01-real' } }); // prettier-ignore
    const path = join(host.folders.state, 'credentials/sign-ins/claude/all-workspaces.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(client.all.v!.files![claudeFile]).toContain(`caiplaceholderrefreshx${kept()!.id}x0`);
    expect(client.all.v!.files![claudeFile]).not.toContain('real');
    expect(told).toContain('the volume v has placeholders');
    expect(client.done.at(-1)).toBe('remove');
    expect(await signIns(facts)).toEqual({
      status: 'ok',
      detail: 'sign-ins of claude are kept on this machine',
    });
  });

  test('stays where the user does not say so', async () => {
    const { facts, client, kept } = given(one());
    await signIns(facts);

    await offered(facts, false);

    expect(kept()).toBeUndefined();
    expect(client.all).toEqual(one());
  });

  test('gives way to the one that is kept already, if the user wants that', async () => {
    const { facts, client, keep, kept } = given(one());
    const other = { id: '0123456789ab', generation: 3, tokens: { access: 'a', refresh: 'b' }, answer: {} };
    await keep(other);
    await signIns(facts);

    const { asked } = await offered(facts);

    expect(asked.join()).toContain('Remove the one in the volume, and use that?');
    expect(kept()).toEqual(other);
    expect(client.all.v!.files![claudeFile]).toContain('x0123456789abx0');
    expect(client.all.v!.files![claudeFile]).not.toContain('real');
  });

  test('goes on working without a refresh token', async () => {
    const claudeAiOauth = { accessToken: 'sk-ant-oat01-real', scopes: ['user:inference'] };
    const { facts, client, kept } = given(
      one({ files: { [claudeFile]: JSON.stringify({ claudeAiOauth }) } }),
    );
    await signIns(facts);

    await offered(facts);

    expect(JSON.parse(client.all.v!.files![claudeFile]!)).toEqual({
      claudeAiOauth: {
        accessToken: `sk-ant-oat01-caiplaceholderaccessx${kept()!.id}x1`,
        scopes: ['user:inference'],
      },
    });
  });

  test.each(['running', 'paused'])('is not touched while a container uses it that is %s', async (state) => {
    const { facts, client, kept } = given(one({ state }));
    await signIns(facts);

    const { asked, told } = await offered(facts);

    expect(asked).toEqual([]);
    expect(told).toContain('end it first: cai stop of-v');
    expect([kept(), client.all]).toEqual([undefined, one({ state })]);
  });

  test('is not touched either if that container is started while the user is asked', async () => {
    const { facts, client, kept } = given(one({ state: 'exited' }));
    await signIns(facts);

    const { told } = await offered(facts, true, () => {
      client.all.v = one({ state: 'running' }).v;
    });

    expect(told).toContain('end it first');
    expect([kept(), client.all]).toEqual([undefined, one({ state: 'running' })]);
  });

  test('is told to be gone if somebody has signed out meanwhile', async () => {
    const { facts, client, kept } = given(one());
    await signIns(facts);

    const { told } = await offered(facts, true, () => {
      client.all.v!.files![claudeFile] = '{}';
    });

    expect(told).toContain('nobody is signed in inside the volume v any more');
    expect(kept()).toBeUndefined();
  });

  test('is lost in neither place if it cannot be replaced, and others are asked about', async () => {
    const { facts, client, kept, host } = given({ ...one(), w: one().v });
    await signIns(facts);
    client.onWrite = () => {
      expect(existsSync(join(host.folders.state, 'credentials/sign-ins/claude/all-workspaces.json'))).toBe(
        true,
      );
      throw new Error('no room');
    };

    const { asked, told } = await offered(facts);

    expect(told).toContain('the sign-in stays in the volume v: no room');
    expect(kept()?.tokens.access).toBe('sk-ant-oat01-real');
    expect(client.all.v!.files![claudeFile]).toBe(claude);
    expect(client.done.slice(-2)).toEqual(['create', 'remove']);
    expect(asked[1]).toContain('inside the volume w,');
  });

  test('of one workspace is kept for that workspace, which the container names', async () => {
    const volume = { agent: 'claude', files: { [claudeFile]: claude } };
    const { facts, client, host, kept } = given({
      'v-data': { ...volume, state: 'exited', workspace: '/ws' },
      'w-data': volume,
    });
    await signIns(facts);

    const { asked, told } = await offered(facts);

    expect(asked).toEqual([
      expect.stringMatching(/v-data, .* Keep the sign-in on this machine instead, for \/ws\?$/),
    ]);
    expect(told).toContain(
      'no container uses the volume w-data: "cai rm --volumes --all --agent claude" removes it',
    );
    const scope = { agent: 'claude', isForAll: false };
    expect(new SignIns(host, { ...scope, workspace: '/ws' }).own.read()?.tokens.access).toBe(
      'sk-ant-oat01-real',
    );
    expect([kept(), new SignIns(host, { ...scope, workspace: '/other' }).outline()]).toEqual([
      undefined,
      undefined,
    ]);
    expect(client.all['v-data']!.files![claudeFile]).not.toContain('real');
  });

  test('is not kept in the place of one that has come meanwhile', async () => {
    const { facts, client, keep } = given(one());
    await signIns(facts);

    const { told } = await offered(facts, true, () =>
      keep({ id: '0123456789ab', generation: 1, tokens: { access: 'a' }, answer: {} }),
    );

    expect(told).toContain('somebody has signed in or out meanwhile');
    expect(client.all).toEqual(one());
  });

  test('comes with the history of the volume that nothing uses any more', async () => {
    const { facts } = given({ 'cai-data-claude-1': one().v });
    await signIns(facts);

    const { told } = await offered(facts);

    expect(told).toContain(
      'agent.data = "shared" uses it and its history again, "cai rm --volumes --all --agent claude" removes it',
    );
  });
});
