/** The door to `served/server`: what `cai serve` is made of, but for who may come in, which is a room inside (`door`). */
export { ChatBridge } from './chat/chat-bridge';
export { Connections } from './connections';
export { type ListenAddress, addressOf, urlOf } from './listen-address';
export { type Inspected, InspectServer } from './inspect/inspect-server';
export { Metrics } from './metrics';
export type { Remembered } from './page/page';
export { pageAddress } from './page/page-address';
export { Routes } from './routes';
export { Server, spareSockets } from './server';
