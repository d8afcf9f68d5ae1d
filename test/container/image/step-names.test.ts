import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuildEvent } from '../../../src/container/engine/engine';
import { withStepName } from '../../../src/container/image/step-names';

describe('withStepName', () => {
  const steps = readFileSync(join(__dirname, '../../../Dockerfile'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replaceAll('\\\n', '')
    .split('\n')
    .filter((line) => line !== '');

  test('says what each step of our Dockerfile does, and names the packages of the agent', () => {
    const named = steps.map((text) => withStepName({ kind: 'step', step: 1, total: 9, text }, ['mine@1']));

    const texts = named.map(({ text }: BuildEvent & { text?: string }) => text);
    expect(texts.filter((text) => /\b(RUN|COPY|FROM \$)/.test(text))).toEqual([]);
    expect(texts.filter((text) => /install|mine/.test(text))).toEqual([
      'installing Debian packages',
      'choosing mine@1',
      'installing mine@1',
    ]);
  });

  test('leaves alone what a step prints', () => {
    const event: BuildEvent = { kind: 'log', text: 'RUN npm install' };

    expect(withStepName(event, [])).toBe(event);
  });
});
