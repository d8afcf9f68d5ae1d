import { CaiError } from '../errors';

/** Too much waits for an agent. */
export function stalled(agent: string): CaiError {
  return new CaiError('AGENT_STALLED', `agent "${agent}" does not read its input: end it and try again`);
}

/** A request was on its way when that broke off. */
export function undelivered(agent: string): CaiError {
  const text = `the connection to agent "${agent}" was lost before it got this: send it again`;
  return new CaiError('UNDELIVERED', text);
}

/** A request came too late for an agent that is on its way out. */
export function tooLate(agent: string): CaiError {
  return new CaiError('AGENT_EXITED', `agent "${agent}" is being ended: try again`);
}
