import { asOrdinaryUser, pathWithClosedFolder } from '../support/ordinary-user';
import { outputOf } from '../../src/system/program-output';

const run = (script: string, more = {}) =>
  outputOf('sh', ['-c', script], { env: { PATH: process.env.PATH }, limitMs: 60_000, ...more });

test('is what the program prints to stdout, with what it reads', async () => {
  expect(await run('cat; echo secret >&2', { input: 'key' })).toBe('key');
  expect(await run('cat; echo end')).toBe('end\n');
});

test('is what a program prints that ends without reading', async () => {
  expect(await run('echo end', { input: 'x'.repeat(1_000_000) })).toBe('end\n');
});

test.each([
  ['with a status', 'echo printed; exit 3', {}, 'it ended with 3', 'printed\n'],
  ['by a signal', 'kill -9 $$', {}, 'it ended with SIGKILL', ''],
  ['too late', 'exec sleep 600', { limitMs: 50 }, 'it had not ended after 0.05 s', ''],
])('rejects where a program ends %s', async (_, script, more, message, stdout) => {
  await expect(run(script, more)).rejects.toMatchObject({ message, stdout, isMissing: false });
});

test('rejects where a program prints too much', async () => {
  await expect(run('head -c 2000000 /dev/zero')).rejects.toThrow('it prints too much');
});

test('rejects where there is no such program, and PATH names a folder that the user may not enter', async () => {
  const env = { PATH: pathWithClosedFolder() };
  const asked = asOrdinaryUser(() => outputOf('cai-is-no-program', [], { env, limitMs: 60_000 }));

  await expect(asked).rejects.toMatchObject({ message: 'there is no such program', isMissing: true });
});

test('rejects where a program may not be executed', async () => {
  const asked = outputOf('/dev/null', [], { env: {}, limitMs: 60_000 });

  await expect(asked).rejects.toMatchObject({ message: 'it cannot be started (EACCES)', isMissing: false });
});

test('rejects where there is no such program', async () => {
  const asked = outputOf('/nowhere/program', [], { env: {}, limitMs: 60_000 });

  await expect(asked).rejects.toMatchObject({ message: 'there is no such program', isMissing: true });
});
