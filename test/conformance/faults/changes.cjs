/** What faults are made of: changes of a line, as `test/support/fault.ts` takes them. */

const isAnswer = (m) => m.method === undefined && m.id !== undefined;

/** Lines that fit are lost. */
const lost = (fits) => (line, m) => (fits(m, line) ? [] : line);

/** Lines that fit come twice. */
const twice = (fits) => (line, m) => (fits(m, line) ? [line, line] : line);

/** In messages that fit, something is otherwise. */
const altered = (fits, alter) => (line, m) => {
  if (!fits(m, line)) return line;
  return JSON.stringify(alter(m) ?? m);
};

/** A line that fits is overtaken by the next one that way. */
function overtaken(fits) {
  let held = [];
  return (line, m) => {
    if (held.length === 0 && fits(m, line)) {
      held = [line];
      return [];
    }
    const lines = [line, ...held];
    held = [];
    return lines;
  };
}

/** Lines that fit go to somebody else as well, past whatever the proxy does. */
const also = (fits, way) => (line, m, put) => {
  if (fits(m, line)) put(way, line);
  return line;
};

/** A line that fits is answered by the proxy, besides what it does with it. */
const answered = (fits, way, outcome) => (line, m, put) => {
  if (fits(m, line)) put(way, JSON.stringify({ jsonrpc: '2.0', id: m.id ?? null, ...outcome }));
  return line;
};

/** Answers that fit are given to each other's askers. */
function exchanged(fits) {
  let held;
  return (line, m) => {
    if (!fits(m, line)) return line;
    if (held === undefined) {
      held = m;
      return [];
    }
    const { id, ...mine } = m;
    const { id: other, ...theirs } = held;
    held = undefined;
    return [JSON.stringify({ ...theirs, id }), JSON.stringify({ ...mine, id: other })];
  };
}

/** Everything that has this key, at any depth, is changed by `alter`, which gets the object that has it. */
function within(value, key, alter) {
  if (value === null || typeof value !== 'object') return;
  for (const each of Object.values(value)) within(each, key, alter);
  if (Object.hasOwn(value, key)) alter(value);
}

/** `is('a', 'b')`: the message has one of these methods. */
const is =
  (...methods) =>
  (m) =>
    methods.includes(m.method);

/** An answer with a result that has this member. */
const gives = (key) => (m) => isAnswer(m) && Object.hasOwn(Object(m.result), key);

/** An answer that is an error of this code. */
const fails = (code) => (m) => isAnswer(m) && m.error?.code === code;

module.exports = {
  also,
  altered,
  answered,
  exchanged,
  fails,
  gives,
  is,
  isAnswer,
  lost,
  overtaken,
  twice,
  within,
};
