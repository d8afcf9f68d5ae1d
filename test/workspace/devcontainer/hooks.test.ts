import { runHooks, type HookPlace } from '../../../src/workspace/devcontainer/hooks';
import { metadataOf } from '../../../src/workspace/devcontainer/metadata';
import { newFolder } from '../../support/temp-folder';

const { hooks } = metadataOf(
  JSON.stringify([
    {
      onCreateCommand: ['create'],
      postCreateCommand: { one: ['one'], two: ['two'] },
      postStartCommand: ['start'],
    },
  ]),
);
const place: HookPlace = { name: 'cai-x', id: '1', startedAt: 1 };
let state: string;
let ran: string[];
let said: string[];
let failing: string | undefined;

beforeEach(() => {
  [state, ran, said, failing] = [newFolder(), [], [], undefined];
});

const run = async (at: Partial<HookPlace> = {}): Promise<string[]> => {
  ran = [];
  await runHooks(hooks, { ...place, ...at }, state, {
    run: (argv, onLine) => {
      ran.push(argv.join(' '));
      onLine(`${argv[0]} says`);
      return Promise.resolve(argv[0] === failing ? 3 : 0);
    },
    begin: () => undefined,
    line: () => undefined,
    say: (sentence) => said.push(sentence),
    end: () => undefined,
  });
  return ran;
};

describe('runHooks', () => {
  test('runs all in order, and nothing again in the same container', async () => {
    expect(await run()).toEqual(['create', 'one', 'two', 'start']);
    expect(await run()).toEqual([]);
  });

  test('runs what is for each start when the container was started again', async () => {
    await run();

    expect(await run({ startedAt: 2 })).toEqual(['start']);
    expect(await run({ startedAt: 2 })).toEqual([]);
  });

  test('runs all in another container of that name', async () => {
    await run();

    expect(await run({ id: '2' })).toHaveLength(4);
  });

  test('tells what fails, and runs nothing after it', async () => {
    failing = 'two';

    expect(await run()).toEqual(['create', 'one', 'two']);
    expect(said).toEqual([
      expect.stringMatching(
        /^postCreateCommand \(two\) of devcontainer.json failed with status 3, .*\ntwo says$/s,
      ),
    ]);
    expect(await run({ startedAt: 2 })).toEqual([]);
  });

  test('runs each once for two processes at once', async () => {
    const both: string[] = [];
    const runner = {
      run: async (argv: readonly string[]) => {
        await new Promise((resolve) => setImmediate(resolve));
        both.push(argv[0]!);
        return 0;
      },
      begin: () => undefined,
      line: () => undefined,
      say: () => undefined,
      end: () => undefined,
    };

    await Promise.all([runHooks(hooks, place, state, runner), runHooks(hooks, place, state, runner)]);

    expect(both.sort()).toEqual(['create', 'one', 'start', 'two']);
  });

  test('runs all again after a process that was ended half-way', async () => {
    const broken = runHooks(hooks, place, state, {
      run: () => Promise.reject(new Error('gone')),
      begin: () => undefined,
      line: () => undefined,
      say: () => undefined,
      end: () => undefined,
    });

    await expect(broken).rejects.toThrow('gone');
    expect(await run()).toHaveLength(4);
  });
});
