/*
 * The agent of the benchmark, the same behind every contender: newline-delimited JSON by hand, as little work
 * as possible for a message. A prompt may tell it what to say (`orderLine` in messages.mjs); any other prompt is
 * answered at once. It writes with `writeSync`, so it is only as fast as it is read.
 */
import { writeSync } from 'node:fs';
import { promptAnswer, updateLines, updatesBytes } from './messages.mjs';

/** A longer line is a prompt that is only to be counted and answered, in bytes. */
const parsedBytes = 2_000;
/** Enough of a line to find its id in it, in bytes. */
const headBytes = 256;
/** What one write takes of an agent that writes in batches, in bytes. */
const batchBytes = 64 * 1024;
/** Of these it makes so much at once, or a little more, in bytes. */
const blockBytes = 1024 * 1024;

/** The pieces of the line that has not ended yet. */
const pieces = [];
let answers = '';
const words = new Map();
let lastSession = 0;

process.stdin.on('data', (chunk) => {
  let from = 0;
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
    pieces.push(chunk.subarray(from, end));
    serve();
    pieces.length = 0;
    from = end + 1;
  }
  if (from < chunk.length) pieces.push(chunk.subarray(from));
  flush();
});

/** Serves the line that `pieces` are. */
function serve() {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  if (length > parsedBytes) {
    const head = Buffer.concat(pieces, headBytes).latin1Slice();
    answers += promptAnswer(/"id":("[^"]*"|\d+)/.exec(head)[1]);
    return;
  }
  const { id, method, params } = JSON.parse(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces));
  if (method === 'session/prompt') {
    const text = params.prompt[0]?.text;
    if (text?.startsWith('{"') === true) say(params.sessionId, JSON.parse(text));
    answers += promptAnswer(JSON.stringify(id));
  } else if (id !== undefined) {
    answers += `${JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method) })}\n`;
  }
}

function resultOf(method) {
  if (method === 'initialize') return { protocolVersion: 1, agentCapabilities: {}, authMethods: [] };
  if (method === 'session/new') return { sessionId: nextSessionId() };
  return {};
}

function nextSessionId() {
  return `00000000-0000-4000-8000-${String(++lastSession).padStart(12, '0')}`;
}

/** What is ordered by a prompt. */
function say(sessionId, { bytes, isBatched, count, forMs, everyMs }) {
  flush();
  const { lines, block, linesInBlock } = wordsOf(sessionId, bytes);
  if (everyMs !== undefined) {
    let number = 0;
    const next = () => write(lines[number++ % lines.length], Infinity);
    setInterval(next, everyMs).unref();
    return;
  }
  if (!isBatched) {
    for (let number = 0; number < count; number++) {
      const line = lines[number % lines.length];
      write(line, line.length);
    }
    return;
  }
  const endAt = forMs === undefined ? Infinity : performance.now() + forMs;
  for (let left = count ?? Infinity; left > 0 && performance.now() < endAt; left -= linesInBlock) {
    write(left >= linesInBlock ? block : block.subarray(0, updatesBytes(bytes, left)), batchBytes);
  }
}

/** What a session is told, made when it is first told updates of that size. */
function wordsOf(sessionId, bytes) {
  const key = `${sessionId} ${bytes}`;
  if (!words.has(key)) {
    const lines = updateLines(sessionId, bytes);
    const repeats = Math.ceil(blockBytes / updatesBytes(bytes, lines.length));
    const block = Buffer.concat(Array(repeats).fill(lines).flat());
    words.set(key, { lines, block, linesInBlock: repeats * lines.length });
  }
  return words.get(key);
}

function flush() {
  if (answers === '') return;
  write(Buffer.from(answers), answers.length);
  answers = '';
}

/** In writes of at most that many bytes. */
function write(bytes, atOnce) {
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at, Math.min(atOnce, bytes.length - at));
}
