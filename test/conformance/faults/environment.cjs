/** The environment of a jest test file in which the proxy has one fault. */
const { appendFileSync } = require('node:fs');
const { TestEnvironment } = require('jest-environment-node');
const { faults } = require('./faults.cjs');

module.exports = class extends TestEnvironment {
  constructor(config, context) {
    super(config, context);
    const { number, results } = config.projectConfig.testEnvironmentOptions;
    this.number = number;
    this.results = results;
    this.global.caiFault = faults[number];
    this.green = new Set(faults[number].breaks);
    this.red = [];
  }

  /** Only tests are run of statements that have no red one yet. */
  handleTestEvent(event, state) {
    if (event.name === 'test_done' && event.test.errors.length > 0) {
      const ids = /^(?:[A-Z]\d+ )*/.exec(event.test.name)[0].trim().split(' ');
      for (const id of ids) if (this.green.delete(id)) this.red.push(`${event.test.name}`);
    }
    if (event.name === 'run_start' || event.name === 'test_done') {
      const ids = [...this.green].join('|');
      state.testNamePattern = ids === '' ? /(?!)/ : new RegExp(`(^| )(${ids}) `);
    }
    if (event.name === 'run_finish') {
      const outcome = { number: this.number, green: [...this.green], red: this.red };
      appendFileSync(this.results, `${JSON.stringify(outcome)}\n`);
    }
  }
};
