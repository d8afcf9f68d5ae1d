import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BuildEvent } from '../../../src/container/engine/engine';
import { withStepName } from '../../../src/container/image/step-names';

describe('withStepName', () => {
  const stepsOf = (name: string) =>
    readFileSync(join(__dirname, '../../..', name), 'utf8')
      .replace(/^#.*\n/gm, '')
      .replaceAll('\\\n', '')
      .split('\n')
      .filter((line) => line !== '');

  test.each([
    ['Dockerfile', ['installing Debian packages', 'installing Python packages', 'installing mine@1']],
    ['src/container/image/agent.Dockerfile', ['installing mine@1']],
  ])('says what each step of %s does, and names the packages', (name, installing) => {
    const named = stepsOf(name).map((text) =>
      withStepName({ kind: 'step', step: 1, total: 9, text }, ['mine@1']),
    );

    const texts = named.map(({ text }: BuildEvent & { text?: string }) => text);
    expect(texts.filter((text) => /\b(RUN|COPY|FROM \$)/.test(text))).toEqual([]);
    expect(texts.filter((text) => text.startsWith('installing'))).toEqual(installing);
  });

  test('leaves alone what a step prints', () => {
    const event: BuildEvent = { kind: 'log', text: 'RUN npm install' };

    expect(withStepName(event, [])).toBe(event);
  });
});
