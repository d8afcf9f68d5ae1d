import { Todos } from '../../../src/cursor/output/todos';

test('an update replaces the list, or changes what it names', () => {
  const todos = new Todos();
  todos.update([{ id: 'old', content: 'Old', status: 'pending' }], false);
  todos.update(
    [
      { id: '1', content: 'Look', status: 'TODO_STATUS_PENDING' },
      { id: '2', content: 'Edit', status: 'pending' },
    ],
    false,
  );

  const entries = todos.update(
    [
      { id: '1', status: 'TODO_STATUS_COMPLETED' },
      { id: '2', content: 'Edit all', status: 'in_progress' },
      { id: '3', content: 'Test', status: 'cancelled' },
    ],
    true,
  );

  expect(entries.map(({ content, status }) => [content, status])).toEqual([
    ['Look', 'completed'],
    ['Edit all', 'in_progress'],
    ['Test', 'completed'],
  ]);
});

test.each([[undefined], ['x'], [[null, 1, {}, { id: 'a' }, { content: '' }]]])(
  '%j has nothing to do',
  (value) => {
    expect(new Todos().update(value, false)).toEqual([]);
  },
);

test('a list has a limit', () => {
  const todos = new Todos();
  const many = (from: number) =>
    Array.from({ length: 300 }, (_, at) => ({ id: `${from + at}`, content: 'x'.repeat(3_000) }));
  todos.update(many(0), true);

  const entries = todos.update(many(300), true);

  expect([entries.length, entries[0]!.content.length, entries[0]!.status]).toEqual([200, 2_000, 'pending']);
});
