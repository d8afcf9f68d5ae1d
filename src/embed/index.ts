/** The package for other programs: `import { connect, serve } from 'containai'`. */
export {
  connect,
  serve,
  serveBytes,
  type AgentConnection,
  type ConnectOptions,
  type Ending,
} from './connect';
export type { AnyMessage, ByteStream, MessageStream, StreamPair } from './message';
export { CaiError, type FailureCode } from '../errors';
