import { CaiError } from '../../errors';

/** The failure of a request for which there is no room, because the agent does not read. */
export function stalled(agent: string): CaiError {
  return new CaiError('AGENT_STALLED', `agent "${agent}" does not read its input: end it and try again`);
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
