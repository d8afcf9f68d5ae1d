/** A workspace that became wider since a folder was first used: by a stranger, or by the agent. */
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from '../support/cli';
import { leave } from '../support/dialogue';
import { World } from '../support/world';

describe('a session in a folder whose workspace has grown', () => {
  let world: World;
  afterEach(() => world.end());

  const refusal = (cwd: string, recorded: string, root: string): unknown => ({
    code: -32602,
    message: expect.stringMatching(
      `^"${cwd}" belonged to the workspace "${recorded}" and now leads to "${root}".*: cai trust "${cwd}"$`,
    ) as string,
  });
  const open = (cwd: string) => world.request('session/new', { cwd, mcpServers: [] });

  test('is refused until the user trusts the wider one', async () => {
    world = await World.initialized();
    const outer = join(world.folder, 'outer');
    const cwd = join(outer, 'sub');
    mkdirSync(cwd, { recursive: true });
    await world.session(cwd, 'one');
    world.workspace('outer');

    expect(await open(cwd)).toMatchObject({ error: refusal(cwd, cwd, outer) });

    const trust = await runCli(['trust', '--yes', cwd], { env: { HOME: join(world.folder, 'home') } });
    expect(trust).toMatchObject({ status: 0, stderr: '' });
    const { agent } = await world.session(cwd, 'two');
    expect(agent.cwd).toBe(outer);
    expect(await leave(world)).toBe(0);
  });

  test('is refused where a link to somewhere else was put in its place', async () => {
    world = await World.initialized();
    const outer = world.workspace('outer');
    const secrets = world.workspace('secrets');
    const cwd = join(outer, 'sub');
    mkdirSync(cwd);
    await world.session(cwd, 'one');
    renameSync(cwd, join(outer, 'old'));
    symlinkSync(secrets, cwd);

    expect(await open(cwd)).toMatchObject({ error: refusal(cwd, outer, secrets) });
    expect(await leave(world)).toBe(0);
  });
});
