/*
 * The lines of the benchmark's dialogues, for both of its ends. They are written as `JSON.stringify` writes
 * them, so that a contender that parses and writes again passes on as many bytes as one that does not; and an
 * agent's session ids are as long as `cai`'s. So the client knows by counting bytes when all has come.
 */

/** Prose and code, as agents write it: quotes and line ends to escape, and a character that is not ASCII. */
const sample =
  'The loop adds up "total" before it asks:\n  for (const { price } of items) total += price;\n' +
  'With an empty list nothing is said, so the caller waits. I would return early — then the three tests ' +
  'below pass, and "npm test" tells it at once:\n\n  if (items.length === 0) return undefined;\n';

/** What must not be cut in a line: characters, or escapes. */
const characters = JSON.stringify(sample).slice(1, -1).match(/\\.|./gu);
const texts = new Map();

/**
 * How many different texts there are of a size: neither texts nor lengths repeat as they would in no session,
 * which would be kind to whoever remembers lines.
 */
const variantsOf = (bytes) => (bytes < 100_000 ? 64 : 4);

/** Of that kind, a text that takes about so many bytes in a line: from 3/4 to 5/4 of it, on average just that. */
function textOf(bytes, number) {
  const count = variantsOf(bytes);
  const variant = number % count;
  const key = `${bytes} ${variant}`;
  if (!texts.has(key)) {
    const share = 0.75 + (0.5 * ((variant * 37) % count)) / (count - 1);
    texts.set(key, makeText(Math.round(bytes * share), variant * 5));
  }
  return texts.get(key);
}

/** Exactly that many bytes, from that character of the sample on. */
function makeText(bytes, first) {
  const turned = [...characters.slice(first), ...characters.slice(0, first)];
  const whole = turned.join('');
  const wholeBytes = Buffer.byteLength(whole);
  let rest = '';
  let left = bytes % wholeBytes;
  for (const character of turned) {
    if (Buffer.byteLength(character) > left) break;
    rest += character;
    left -= Buffer.byteLength(character);
  }
  return whole.repeat(Math.floor(bytes / wholeBytes)) + rest + '.'.repeat(left);
}

/** Bytes of a text in a line, by the names that the benchmark has for them. */
export const sizes = { '60 B': 60, '300 B': 300, '4 kB': 4_000, '20 kB': 20_000, '1 MB': 1_000_000 };

/** `session/update` with texts of that many bytes on average, with line ends: what an agent repeats. */
export function updateLines(sessionId, bytes) {
  return Array.from({ length: variantsOf(bytes) }, (_, number) => {
    const content = `{"type":"text","text":"${textOf(bytes, number)}"}`;
    const update = `{"sessionUpdate":"agent_message_chunk","content":${content}}`;
    const params = `{"sessionId":"${sessionId}","update":${update}}`;
    return Buffer.from(`{"jsonrpc":"2.0","method":"session/update","params":${params}}\n`);
  });
}

const lengths = new Map();

/** Bytes of that many updates; session ids all have the same length. */
export function updatesBytes(bytes, count) {
  if (!lengths.has(bytes))
    lengths.set(
      bytes,
      updateLines(' '.repeat(36), bytes).map(({ length }) => length),
    );
  const each = lengths.get(bytes);
  const sum = (list) => list.reduce((total, length) => total + length, 0);
  return Math.floor(count / each.length) * sum(each) + sum(each.slice(0, count % each.length));
}

/** A request, with its line end. */
export function requestLine(id, method, params) {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
}

/** `session/prompt` with a text of about so many bytes, or with none. */
export function promptLine(id, sessionId, bytes) {
  const blocks = bytes === undefined ? '' : `{"type":"text","text":"${textOf(bytes, id)}"}`;
  const params = `{"sessionId":"${sessionId}","prompt":[${blocks}]}`;
  return `{"jsonrpc":"2.0","id":${id},"method":"session/prompt","params":${params}}\n`;
}

/**
 * `session/prompt` that tells the agent what to say before it answers: `count` updates of `bytes` each, or as
 * many as it can in `forMs` milliseconds; with `isBatched`, which `forMs` needs, in writes of 64 kB, else each in
 * a write of its own. With `everyMs` it is answered at once, and the agent says one after so many milliseconds each until
 * it ends.
 */
export function orderLine(id, sessionId, order) {
  return requestLine(id, 'session/prompt', {
    sessionId,
    prompt: [{ type: 'text', text: JSON.stringify(order) }],
  });
}

/** The answer to a prompt; `id` is JSON text. */
export function promptAnswer(id) {
  return `{"jsonrpc":"2.0","id":${id},"result":{"stopReason":"end_turn"}}\n`;
}
