/** A proxy whose agent says as much as it is asked for (`fixtures/agents/floods.mjs`). */
import { resolve } from 'node:path';
import { World, type WorldOptions } from './world';

/** Starts one, initialized; resolves with it, the agent's process id and a session's id. */
export async function startFlood(
  options: WorldOptions = {},
): Promise<{ world: World; agentPid: number; sessionId: string }> {
  const agent = resolve(__dirname, '../../fixtures/agents/floods.mjs');
  const command = `[agents.flood]\ncommand = ["${process.execPath}", "${agent}"]`;
  const config = `${command}\n${options.config ?? ''}`;
  const world = await World.start({ ...options, args: ['flood'], config });
  await world.request('initialize', { protocolVersion: 1 });
  const opened = await world.request('session/new', { cwd: world.workspace('own'), mcpServers: [] });
  const { sessionId, _meta } = opened.result as { sessionId: string; _meta: { pid: number } };
  return { world, agentPid: _meta.pid, sessionId };
}

/** Asks for that many updates with lines of that many bytes, ends included; returns the request's id. */
export function askForFlood(world: World, sessionId: string, count: number, lineBytes: number): number {
  const prompt = [{ type: 'text', text: `${count} ${lineBytes}` }];
  return world.ask('session/prompt', { sessionId, prompt });
}
