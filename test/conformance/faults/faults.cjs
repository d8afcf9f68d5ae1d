/**
 * Faults of the proxy as its two sides would see them: between it and them, lines are lost, come twice, in
 * another order or otherwise than they were sent. None depends on the text of the sources. Each has to turn a
 * test red of each statement that it breaks, in the file under whose name it stands.
 */

const byFile = {
  ...require('./lines.cjs'),
  ...require('./contents.cjs'),
  ...require('./agreements.cjs'),
  ...require('./sessions.cjs'),
  ...require('./turns.cjs'),
};

/** `make` makes the fault for one proxy. */
const faults = Object.entries(byFile).flatMap(([file, list]) =>
  list.map(([name, breaks, make]) => ({ file, name, breaks, make })),
);

module.exports = { faults };
