import { compiled, run } from '../../support/program';

const script = compiled(`
  import { getHeapSpaceStatistics } from 'node:v8';
  import { keepHeapSmall } from './src/commands/support/small-heap';
  if (process.argv[2] === 'small') keepHeapSmall();
  const kept = [];
  for (let i = 0; i < 500_000; i++) kept.push({ i });
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  process.stdout.write(JSON.stringify(space.space_size));
`);

test('the space for new objects does not grow, however much is kept', async () => {
  const [small, usual] = await Promise.all(['small', 'usual'].map((size) => sizeIn(size)));

  expect(small).toBeLessThanOrEqual(2 * 1024 * 1024);
  expect(usual).toBeGreaterThan(8 * 1024 * 1024);
});

async function sizeIn(size: string): Promise<number> {
  let text = '';
  for await (const chunk of run(script, [size]).stdout) text += String(chunk);
  return Number(text);
}
