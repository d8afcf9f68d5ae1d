/** The package for other programs: `import { connect } from 'containai'`. */
export { connect, type AgentConnection, type ConnectOptions } from './connect';
export type { AnyMessage, MessageStream } from './message';
export { CaiError, type FailureCode } from '../errors';
