import type { Json } from './inbox';

/** What Zed says of itself in `initialize`. */
export const zed: Json = {
  protocolVersion: 1,
  clientInfo: { name: 'zed', title: 'Zed', version: '1.0.0' },
  clientCapabilities: {
    fs: { readTextFile: true, writeTextFile: true },
    terminal: true,
    _meta: { terminal_output: true, 'terminal-auth': true },
  },
};
