/** An editor that is careless or gone: the proxy goes on as long as it can, and leaves nothing behind. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exchange, leave, sentTo } from '../support/dialogue';
import { hastened } from '../support/hastened';
import { failure, success } from '../support/messages';
import { untilGone } from '../support/processes';
import { startTurn, expectTurn } from '../support/turn';
import { fullAgent, World } from '../support/world';

/** A refusal for what would wait beyond that limit. */
const excess = (limit: string): unknown =>
  expect.stringMatching(new RegExp(`[.\\d]+ [KM]iB, more than the ${limit} of acp\\.queue_to_agent: `));

describe('an editor', () => {
  let world: World;
  afterEach(() => world.end());

  test('that does not read stderr is served though there is much to say', async () => {
    world = await World.initialized();
    const session = await world.session(world.workspace('own'), 's');
    world.process.stderr.pause();

    session.agent.send('garbage\n'.repeat(20_000));
    await expectTurn(world, session);
    const left = leave(world);
    await session.agent.gone;
    // Its process counts as over for us only when its output is read to the end.
    world.process.stderr.resume();
    expect(await left).toBe(0);
  });

  test('that has closed stderr is served', async () => {
    world = await World.initialized();
    const session = await world.session(world.workspace('own'), 's');
    world.process.stderr.destroy();

    session.agent.send('garbage\n'.repeat(100));
    await expectTurn(world, session);
  });

  test('that goes on writing while the proxy ends is not read without limit', async () => {
    world = await World.initialized({ env: { ...hastened, CAI_PUPPET_IGNORE: '1' } });
    const { agent } = await world.session(world.workspace('own'), 's1');
    world.process.kill('SIGTERM');
    const { stdin } = world.process;
    const total = 64 * 2 ** 20;
    stdin.write('{"jsonrpc":"2.0","method":"_x"}\n'.repeat(total / 32));

    let least = total;
    const watch = setInterval(() => {
      // What is left at the end of the proxy is thrown away.
      if (!stdin.destroyed) least = Math.min(least, stdin.writableLength);
    }, 1);

    await untilGone(agent.pid);
    await world.exited();
    clearInterval(watch);
    expect(least).toBeGreaterThan(total / 2);
  });

  test('that leaves while a session is looked up leaves no agent behind', async () => {
    world = await startWithSlowGit();
    const first = await world.agent();
    const opening = world.ask('session/new', { cwd: world.repository('slow'), mcpServers: [] });
    await sentTo(world, first);

    world.process.kill('SIGTERM');
    await first.sawEof;
    world.file('go', '');
    expect(await world.editor.response(opening)).toEqual(failure(opening, -32603));
    first.order({ exit: 0 });
    expect(await world.exited()).toBe(0);
    expect(world.agents).toEqual([first]);
  });

  test('is refused what an agent that does not start has no room for, however small it is', async () => {
    const isSlow = ({ cwd }: { cwd: string }): boolean => cwd.endsWith('slow');
    world = await World.initialized({
      config: '[acp]\nqueue_to_agent = "1MiB"\n',
      agentHello: (agent) => (isSlow(agent) ? false : { protocolVersion: 1, agentCapabilities: {} }),
    });
    const cwd = world.workspace('slow');

    const asked = Array.from({ length: 2_000 }, () => world.ask('session/new', { cwd, mcpServers: [] }));

    // What was held is far less than 1 MiB of lines, but each costs memory besides.
    const answer = await world.editor.response(asked.at(-1));
    expect(answer).toEqual(failure(asked.at(-1), -32603));
    expect(answer).toHaveProperty('error.message', excess('1 MiB'));
    const agent = await world.agent(cwd);
    await agent.inbox.next('initialize');
    expect(agent.inbox.lines).toHaveLength(1);
  });

  test('can cancel what waits for a session to be opened, though there is no room for more', async () => {
    world = await World.initialized({
      config: '[acp]\nqueue_to_agent = "1KiB"\n',
      agentHello: ({ cwd }) => (cwd.endsWith('slow') ? false : fullAgent),
    });
    // The agent is first asked which session that is.
    const session = { sessionId: '11f73253-e926-56c3-867b-924fa1436fba' };
    const cwd = world.workspace('slow');
    const text = 'x'.repeat(2_000);
    const prompt = (): number =>
      world.ask('session/prompt', { ...session, prompt: [{ type: 'text', text }] });
    const loading = world.ask('session/load', { ...session, cwd, mcpServers: [] });
    const [held, refused] = [prompt(), prompt()];
    const refusal = await world.editor.response(refused);
    expect(refusal).toEqual(failure(refused, -32603));
    expect(refusal).toHaveProperty('error.message', excess('1 KiB'));

    world.send({ method: 'session/cancel', params: session });

    expect(await world.editor.response(held)).toEqual(success(held, { stopReason: 'cancelled' }));
    const agent = await world.agent(cwd);
    await agent.greet({ ...fullAgent, agentCapabilities: { loadSession: true } });
    await agent.answer('session/load');
    expect(await world.editor.response(loading)).toEqual(success(loading, {}));
    expect(await sentTo(world, agent)).toEqual([]);
  });

  test('that signs in again and again does not make later agents start ever more slowly', async () => {
    world = await World.initialized();
    const first = await world.agent();
    const providers = Array.from({ length: 110 }, (_, n) => ({ providerId: `p${n}` }));
    for (const params of providers) await exchange(world, first, 'providers/set', params);

    const opening = world.ask('session/new', { cwd: world.workspace('later'), mcpServers: [] });
    const later = await world.agent(join(world.folder, 'later'));
    const repeated: unknown[] = [];
    for (;;) {
      const { id, method, params } = await later.inbox.next((message) => message.method !== 'initialize');
      if (method === 'session/new') {
        later.send({ id, result: { sessionId: 's' } });
        break;
      }
      repeated.push(params);
      later.send({ id, result: {} });
    }

    await world.editor.response(opening);
    expect(repeated).toEqual(providers.slice(-100));
  });

  test('that asks for a session in a folder whose path takes minutes to normalise holds up nobody', async () => {
    world = await World.initialized();
    const session = await world.session(world.workspace('own'), 's');
    const cwd = `/${'a/'.repeat(200_000)}${'x/../'.repeat(100_000)}`;

    const opening = world.ask('session/new', { cwd, mcpServers: [] });
    const turn = await startTurn(world, session);

    await turn.end();
    expect(await world.editor.response(opening)).toEqual(failure(opening, -32602));
  });

  test.each(['/\\udc80', '/\\u0000'])('cannot open a session in "%s"', async (name) => {
    world = await World.initialized();
    const cwd = `"${world.folder}${name}"`;

    world.send(`{"jsonrpc":"2.0","id":"x","method":"session/new","params":{"cwd":${cwd},"mcpServers":[]}}\n`);

    expect(await world.editor.response('x')).toEqual(failure('x', -32602));
  });
});

/** A proxy whose `git` has no answer for the workspace `slow` until there is a file `go`. */
async function startWithSlowGit(): Promise<World> {
  return await World.initialized({
    env: ({ folder }) => ({ PATH: `${folder}/bin:${process.env.PATH}`, CAI_PUPPET_IGNORE: '1' }),
    prepare: ({ folder }) => {
      mkdirSync(join(folder, 'bin'));
      const wait = `case "$*" in *"/slow "*) while [ ! -e "${folder}/go" ]; do sleep 0.02; done;; esac`;
      writeFileSync(join(folder, 'bin/git'), `#!/bin/sh\n${wait}\nPATH="\${PATH#*:}" exec git "$@"\n`);
      chmodSync(join(folder, 'bin/git'), 0o755);
    },
  });
}
