import { configKeys } from '../../../src/config/config';
import { settingsOf } from '../../../src/config/config-reader';
import { JudgedFile } from '../../../src/config/repository/judge';

test('only the keys that are told are looked for in the text: a stranger chooses how many there are', () => {
  const placeOf = jest.fn(() => ({ line: 1, column: 1 }));
  const source = { file: '/f', text: '', base: { folder: '/', home: '/' }, placeOf };
  const agents = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`a${at}`, { command: ['x'] }]));
  const settings = settingsOf({ agents }, source, configKeys);

  const notices = new JudgedFile({ ...source, settings }, [], false).notices({ never: '', widens: '' });

  expect(notices.at(-1)).toBe('/f: 80 more keys are ignored');
  expect(placeOf).toHaveBeenCalledTimes(20);
});
