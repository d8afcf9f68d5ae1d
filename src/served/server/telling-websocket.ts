/** WebSockets that say what is wrong with a message that is too long: the library says nothing but a number. */
import { WebSocket } from 'ws';
import { overLimit } from '../../rpc/byte-budget';
import { atMostFromClient } from './http/body';

/** Source: RFC 6455, section 7.4.1. */
const tooBig = 1009;

/** For messages of at most `maxBytes`. */
export function tellingWebSocket(maxBytes: number): typeof WebSocket {
  const excess = `a message has ${overLimit(0, maxBytes, atMostFromClient)}`;
  return class extends WebSocket {
    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, code === tooBig ? (reason ?? excess) : reason);
    }
  };
}
