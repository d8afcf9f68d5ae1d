/**
 * A reporter of jest: what begins and ends is a line of JSON in the file that CAI_GATE_RESULTS names, at once, so that a
 * run that is ended has told what it found. `results.mjs` reads it.
 */
import { appendFileSync } from 'node:fs';

function write(line) {
  appendFileSync(process.env.CAI_GATE_RESULTS, `${JSON.stringify(line)}\n`);
}

export default class {
  onRunStart({ numTotalTestSuites }) {
    write({ files: numTotalTestSuites });
  }

  onTestFileStart({ path }) {
    write({ began: path });
  }

  onTestFileResult({ path }, { testResults, perfStats, testExecError, failureMessage }) {
    const tests = testResults.map(({ fullName: name, status, duration, failureMessages }) => ({
      name,
      status,
      tookMs: duration ?? undefined,
      message: failureMessages.join('\n'),
    }));
    write({
      ended: path,
      tests,
      tookMs: perfStats.runtime,
      defect: testExecError ? (failureMessage ?? String(testExecError)) : undefined,
    });
  }
}
