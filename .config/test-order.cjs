/*
 * The order of test files. A start of a program copies the tables of memory of the process that starts it, which takes
 * 1 ms in a new worker and 15 ms in one of 500 MB; and workers grow. So files that start programs come first.
 */
const { readFileSync } = require('node:fs');
const Sequencer = require('@jest/test-sequencer').default;

/** Imports of what starts them, by most of the files that do. */
const starts =
  /from '(?:node:child_process|.*\/support\/(?:chat-panel|cli|dialogue|flood|git|program|served|shared-worlds|turn|worlds?)|\.\/(?:editor|local-copy|repository))'/;

module.exports = class extends Sequencer {
  sort(tests) {
    const isLate = ({ path }) => !starts.test(readFileSync(path, 'utf8'));
    const sorted = super.sort(tests);
    return [...sorted.filter((test) => !isLate(test)), ...sorted.filter(isLate)];
  }
};
