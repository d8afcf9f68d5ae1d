import { type z } from 'zod';
import * as forms from '../../../src/acp/cursor/forms';
import { zCreateElicitationRequest } from '../../../node_modules/@agentclientprotocol/sdk/dist/v1/schema/zod.gen.js';

const color = {
  id: 'color',
  prompt: 'Which?',
  options: [
    { id: 'r', label: 'Red' },
    { id: 'b', label: 'Blue' },
  ],
};
const trees = { id: '__proto__', prompt: 'Trees?', options: ['Oak', { label: 'Elm' }], allowMultiple: true };

test('questions are read, however their options are written, and those that nobody could answer are left out', () => {
  const odd = [
    null,
    'x',
    {},
    { prompt: 'No options' },
    { prompt: 'None', options: [null, {}] },
    { options: ['a'] },
  ];

  expect(forms.questionsOf({ questions: [color, ...odd, trees] })).toEqual([
    { id: 'color', text: 'Which?', options: color.options, isMultiple: false },
    ...[
      {
        id: '__proto__',
        text: 'Trees?',
        isMultiple: true,
        options: ['Oak', 'Elm'].map((id) => ({ id, label: id })),
      },
    ],
  ]);
  expect(forms.questionsOf({ questions: 'x' })).toEqual([]);
});

test('as a form they are by the schema, and only what was offered is an answer', () => {
  const questions = forms.questionsOf({ questions: [color, trees] });
  const form = { sessionId: 's', ...forms.formOf('Choose', questions) };
  expect((zCreateElicitationRequest as z.ZodType).safeParse(form).error).toBeUndefined();

  const outcome = (content: unknown) => forms.outcomeOfForm({ action: 'accept', content }, questions);
  expect(outcome({ question1: 'b', question2: ['Oak', 'Elm', 'Ash'] })).toEqual({
    outcome: 'answered',
    answers: [
      { questionId: 'color', selectedOptionIds: ['b'] },
      { questionId: '__proto__', selectedOptionIds: ['Oak', 'Elm'] },
    ],
  });
  for (const content of [undefined, null, [], { question1: 'purple' }, { question2: [] }])
    expect(outcome(content)).toMatchObject({ outcome: 'skipped' });
  expect(forms.outcomeOfForm({ action: 'decline' }, questions)).toMatchObject({ outcome: 'skipped' });
  expect(forms.outcomeOfForm({ action: 'cancel' }, questions)).toEqual({ outcome: 'cancelled' });
});

test('a plan is shown with whatever it has', () => {
  expect(forms.planOf({ name: 'A', overview: 'B', plan: '# C' })).toEqual({ title: 'A', text: 'B\n\n# C' });
  expect(forms.planOf({ plan: 1 })).toEqual({ title: 'Plan', text: 'The plan is empty.' });
});
