import fc from 'fast-check';
import * as fields from '../../src/acp/fields';
import { messageText, planSource } from './message-text';
import { valueText } from './json-text';
import { expectedOf } from './json-tree';
test('t', () => {
  const time = (n: string, f: () => void) => {
    const t = performance.now();
    f();
    process.stderr.write(`${n} ${(performance.now() - t).toFixed(0)}\n`);
  };
  let arb: fc.Arbitrary<string>;
  time('build update', () => {
    arb = messageText(fields.update);
  });
  let lines: string[] = [];
  time('sample 300', () => {
    lines = fc.sample(arb, { numRuns: 300, seed: 1 });
  });
  time('sample 300', () => {
    fc.sample(arb, { numRuns: 300, seed: 2 });
  });
  process.stderr.write(
    `len ${lines.reduce((a, b) => a + b.length, 0) / 300}\n${lines.slice(0, 8).join('\n')}\n`,
  );
  time('expected', () => {
    for (const l of lines) expectedOf(Buffer.from(l), fields.update);
  });
  time('sample any', () => {
    fc.sample(valueText, { numRuns: 300, seed: 1 });
  });
  let plans: any[] = [];
  time('sample plan', () => {
    plans = fc.sample(planSource, { numRuns: 300, seed: 1 });
  });
  time('chain', () => {
    fc.sample(
      planSource.chain((p) => messageText(p)),
      { numRuns: 300, seed: 1 },
    );
  });
  process.stderr.write(
    plans
      .slice(0, 5)
      .map((p) => JSON.stringify(p))
      .join('\n'),
  );
});
