/** The door to `served/`: what commands need to serve clients elsewhere, and to be one. */
export { accessTo } from './client/access';
export { readAddress } from './client/address';
export { EditorConnection } from './client/editor-connection';
export { Guard } from './client/guard';
export { ChatBridge } from './server/chat/chat-bridge';
export { Connections } from './server/connections';
export { Door } from './server/door/door';
export { checkListen, checkSocketPath } from './server/door/listen';
export { tlsOptionsOf } from './server/door/tls';
export { Tokens } from './server/door/tokens';
export { Users } from './server/door/users';
export { WaitingSockets } from './server/door/waiting-sockets';
export { type ListenAddress, addressOf, urlOf } from './server/listen-address';
export { Metrics } from './server/metrics';
export type { Remembered } from './server/page/page';
export { pageAddress } from './server/page/page-address';
export { Routes } from './server/routes';
export { Server, spareSockets } from './server/server';
