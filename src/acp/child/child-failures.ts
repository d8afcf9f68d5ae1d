import { CaiError } from '../../errors';

/** The key of the configuration for what may wait for agents. */
export const queueToAgent = 'acp.queue_to_agent';

/** The failure of a request for which there is no room, because the agent does not read. `excess`: what waits. */
export function stalled(agent: string, excess: string): CaiError {
  const text = `agent "${agent}" does not read its input, of which there is ${excess}: end it and try again`;
  return new CaiError('AGENT_STALLED', text);
}

/** The failure of what there is no room for until the agent has started. `excess`: what would wait. */
export function tooMuchHeld(agent: string, excess: string): CaiError {
  return new CaiError(
    'AGENT_STALLED',
    `too much waits until agent "${agent}" has started: ${excess}: try again`,
  );
}

/** The failure of a request that was sent but not received, because the connection was lost. */
export function undelivered(agent: string): CaiError {
  const text = `the connection to agent "${agent}" was lost before it got this: send it again`;
  return new CaiError('UNDELIVERED', text);
}

/** The failure of a request to an agent that is being ended. */
export function tooLate(agent: string): CaiError {
  return new CaiError('AGENT_EXITED', `agent "${agent}" is being ended: try again`);
}
