import { Host } from '../../../src/system/host';
import { Profiles, shippedProfile } from '../../../src/acp/profiles/profiles';
import { SignIn } from '../../../src/acp/sign-in/sign-in';
import type { AgentCommand } from '../../../src/agent/catalog';
import { signInToken } from '../../../src/agent/sign-in-argument';
import { takeToken } from '../../../src/agent/editor-token';
import { openLog, type Log } from '../../../src/system/log';
import type { Child } from '../../../src/acp/child/child';
import { loadConfig } from '../../../src/config/config';
import { newFolder } from '../../support/temp-folder';

const agent = { name: 'mine', displayName: 'Mine', command: ['mine-acp'], remedy: '' } as const;
const params = JSON.stringify({ clientCapabilities: { auth: { terminal: true } } });
const hello = (more: object): string =>
  JSON.stringify({ protocolVersion: 1, agentCapabilities: {}, ...more });
const withLogin = hello({ authMethods: [{ id: 'tty', type: 'terminal', args: ['x'] }, { id: 'key' }] });

/** A sign-in method as an editor gets it that knows both ways. */
interface Method {
  readonly args: string[];
  readonly _meta: { readonly 'terminal-auth': { readonly args: string[] } };
}

describe('Profiles', () => {
  const host = new Host({ HOME: newFolder(), XDG_RUNTIME_DIR: newFolder() });
  const silent = openLog({ CAI_LOG_LEVEL: 'silent' });

  /** Those of a proxy; with `isDataSplit`, the user says that each workspace has data of its own. */
  function profilesIn(
    folder: string,
    isDataSplit = false,
    log: Log = silent,
    of: AgentCommand = agent,
    signIn = new SignIn({ agent: of, host, log: silent }),
    cwd = '/a/src',
  ): Profiles {
    const usual = loadConfig(host);
    const data = isDataSplit ? ('workspace' as const) : ('shared' as const);
    const config = { ...usual, agent: { ...usual.agent, data } };
    return new Profiles({
      ...{ agent: of, config, cwd, folder, imageName: 'image', log, signIn },
      programIdentity: () => '',
    });
  }

  function childOf(root: string | undefined, agentResult: string, id = 'id'): Child {
    const image = { id, name: 'image' };
    return { root, hello: { agentResult }, image, files: 'off' } as unknown as Child;
  }

  const startedIn = (folder: string, cwd: string) =>
    profilesIn(folder, false, silent, agent, new SignIn({ agent, host, log: silent }), cwd);

  /** A folder in which it is kept what an agent has answered: in /a, of a proxy that was started below it, or in none. */
  function recorded(hasOwnData = false, root?: string): string {
    const folder = newFolder();
    const earlier = profilesIn(folder);
    earlier.ownRoot = '/a';
    earlier.find(params);
    earlier.heard(childOf(root, withLogin), hasOwnData);
    return folder;
  }

  describe('of an agent in a workspace', () => {
    test('are for its working directory alone', () => {
      const folder = recorded(false, '/a');

      expect(offered(startedIn(folder, '/a/src'))).toEqual(['tty', 'key']);
      for (const cwd of ['/b', '/a', '/', '/a/src/deeper'])
        expect(startedIn(folder, cwd).find(params)).toBeUndefined();
    });

    test('are not made of an agent in another workspace than that of the working directory', () => {
      const folder = recorded(false, '/b');

      for (const cwd of ['/a/src', '/b', '/']) expect(startedIn(folder, cwd).find(params)).toBeUndefined();
    });

    test('come before what is said without a workspace', () => {
      const folder = recorded();
      const inA = profilesIn(folder);
      inA.ownRoot = '/a';
      inA.find(params);
      inA.heard(childOf('/a', hello({ authMethods: [{ id: 'own' }] })), false);

      expect(offered(startedIn(folder, '/a/src'))).toEqual(['own']);
      expect(offered(startedIn(folder, '/b'))).toEqual(['tty', 'key']);
    });

    test.each([
      [
        'is not said any more, and replaced by nothing that a workspace says',
        hello({ authMethods: [] }),
        undefined,
      ],
      ['is still said', withLogin, ['tty', 'key']],
    ])('tell by their image what the agent says without a workspace: what %s', (_, said, kept) => {
      const folder = recorded();
      const later = startedIn(folder, '/b');
      later.ownRoot = '/b';
      later.find(params);
      later.heard(childOf('/b', said, 'another image'), false);

      expect(startedIn(folder, '/').find(params) && offered(startedIn(folder, '/'))).toEqual(kept);
      expect(offered(startedIn(folder, '/b'))).toEqual(kept ?? []);
    });
  });

  /** Ids of the sign-in methods that an editor is offered. */
  function offered(profiles: Profiles): string[] | undefined {
    const found = profiles.find(params);
    if (found === undefined) return undefined;
    return (JSON.parse(found.result) as { authMethods: { id: string }[] }).authMethods.map(({ id }) => id);
  }

  test('offer a login that was recorded where all workspaces share their sign-ins', () => {
    expect(offered(profilesIn(recorded()))).toEqual(['tty', 'key']);
  });

  describe('where each workspace has data of its own', () => {
    test('offer no login that was recorded without a workspace', () => {
      expect(offered(profilesIn(recorded(), true))).toEqual(['key']);
    });

    // The sign-in to the one is kept in its container, that to the other outside of it.
    test.each([agent.name, 'claude'])(
      'offer what the agent of the workspace has named, to be run there alone: %s',
      (name) => {
        const [folder, its] = [newFolder(), { ...agent, name }];
        const earlier = profilesIn(folder, true, silent, its);
        earlier.ownRoot = '/a';
        earlier.find(params);
        earlier.heard(childOf('/a', withLogin), true);

        const { result } = profilesIn(folder, true, silent, its).find(params)!;

        const { authMethods } = JSON.parse(result) as { authMethods: [Method, object] };
        const token = signInToken(authMethods[0].args)!;
        expect(takeToken(host, token)).toMatchObject({ workspace: '/a/src', argv: ['mine-acp', 'x'] });
      },
    );
  });

  describe('where each workspace has data of its own, of an agent of our image', () => {
    const claude = { ...agent, name: 'claude', command: ['claude-agent-acp'] } as const;
    const capabilities = { auth: { terminal: true }, _meta: { 'terminal-auth': true } };
    const asked = JSON.stringify({ clientCapabilities: capabilities });
    const shipped = shippedProfile(claude, loadConfig(host), capabilities)!;

    /** What an editor in /b is answered, when an agent without a workspace has said `said` before. */
    function answered(said: string, ownRoot?: string): string {
      const folder = newFolder();
      const earlier = profilesIn(folder, ownRoot === undefined, silent, claude);
      earlier.find(asked);
      earlier.heard(childOf(undefined, said), false);
      const signIn = new SignIn({ agent: claude, host, log: silent });
      signIn.ownRoot = '/b';
      return profilesIn(folder, ownRoot === undefined, silent, claude, signIn).find(asked)!.result;
    }

    test.each([
      ['the user', undefined],
      ['the repository', '/b'],
    ])('offer our logins, not recorded ones: so says %s', (_, ownRoot) => {
      // The program may lie elsewhere, or be another one.
      const said = shipped.replaceAll('"command":"claude-agent-acp"', '"command":"/evil"');
      expect(said).not.toBe(shipped);

      const { authMethods } = JSON.parse(answered(said, ownRoot)) as { authMethods: Method[] };

      const orders = authMethods.flatMap(({ args, _meta }) =>
        [signInToken(args)!, _meta['terminal-auth'].args[2]!].map((token) => takeToken(host, token)),
      );
      expect(orders).toHaveLength(4);
      for (const order of orders) {
        expect(order).toMatchObject({
          workspace: '/b',
          argv: expect.arrayContaining(['claude-agent-acp']) as unknown,
        });
      }
    });

    test('offer none where the agent has said something else', () => {
      const result = answered(shipped.replaceAll('--claudeai', '--evil'));

      expect(JSON.parse(result)).toMatchObject({ authMethods: [] });
    });
  });

  test('keep nothing of a workspace that alone has data of its own', () => {
    expect(offered(profilesIn(recorded(true)))).toBeUndefined();
  });

  test('say once what keeps them from being found, however often they are asked', () => {
    const warned: unknown[] = [];
    const log = { ...silent, warn: (fields: unknown) => warned.push(fields) } as unknown as Log;
    const profiles = profilesIn(newFolder(), false, log);
    const deep = `{"clientCapabilities":{"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`;

    expect([1, 2].map(() => profiles.find(deep))).toEqual([undefined, undefined]);

    expect(warned).toHaveLength(1);
  });

  test('name what differs, and of each name the beginning', () => {
    const folder = recorded();
    const warned: { differs: string[] }[] = [];
    const log = { ...silent, warn: (fields: { differs: string[] }) => warned.push(fields) } as unknown as Log;
    const profiles = profilesIn(folder, false, log);
    profiles.find(params);

    profiles.heard(childOf('/b', hello({ agentCapabilities: { ['x'.repeat(1_000)]: true } })), false);

    expect(warned[0]!.differs[0]).toBe(`agentCapabilities.${'x'.repeat(82)}`);
  });
});
