/** Who may come in to `cai serve`. Commands that only keep tokens load this and not the server. */
export { Door } from './door';
export { checkListen, checkSocketPath } from './listen';
export { tlsOptionsOf } from './tls';
export { Tokens } from './tokens';
export { Users } from './users';
export { WaitingSockets } from './waiting-sockets';
