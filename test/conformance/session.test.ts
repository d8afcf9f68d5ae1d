/** Statements S: session setup, list, delete, close. */
import { World } from '../support/world';

describe('sessions', () => {
  let world: World;
  afterEach(() => world.end());

  test('S1 two agents that give the same session id are two sessions for the editor', async () => {
    world = await World.initialized();

    const first = await world.session(world.workspace('a'), 'same');
    const second = await world.session(world.workspace('b'), 'same');

    expect(first.id).not.toBe(second.id);
    expect([first.id, second.id]).not.toContain('same');
  });
});
