import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { duplexPair, type Duplex } from 'node:stream';
import { CommandLink, StatusLink, statusLine, type AgentStatus } from '../../src/rpc/status';

/** Far above what an answer takes. */
const patienceMs = 10_000;

const nobody = (): Promise<undefined> => Promise.resolve(undefined);

/** The link of a program that tells nobody, and asks nobody. */
const idleLink = (stream: Duplex): StatusLink => new StatusLink(stream, () => undefined, nobody);

describe('whether a command works', () => {
  it('is answered at once, and other lines are not', async () => {
    const [ours, its] = duplexPair();
    const said: string[] = [];
    ours.setEncoding('utf8').on('data', (text: string) => said.push(text));
    new CommandLink(its);

    ours.write(
      'nonsense\n{"ask":"dance","id":4}\n{"ask":"alive"}\n{"kind":"started"}\n{"ask":"alive","id":5}\n',
    );
    while (!said.join('').includes('"id":5')) await once(ours, 'data');

    expect(said.join('')).toBe(statusLine({ kind: 'answer', id: 5 }));
  });

  it('is false where the program knows no questions', async () => {
    expect(await idleLink(duplexPair()[0]).isAlive(20)).toBe(false);
  });

  it('is false when the command ends, and afterwards', async () => {
    const [ours] = duplexPair();
    const link = idleLink(ours);
    const asked = link.isAlive(patienceMs);

    ours.destroy();

    expect(await asked).toBe(false);
    expect(await link.isAlive(patienceMs)).toBe(false);
  });
});

describe('what a command asks', () => {
  it('is answered, each question with its own answer, beside what the command is asked', async () => {
    const [ours, its] = duplexPair();
    const settles = new Map<string, (isAllowed: boolean | undefined) => void>();
    const told: AgentStatus[] = [];
    const link = new StatusLink(
      ours,
      (status) => told.push(status),
      (place) => new Promise((resolve) => settles.set(place, resolve)),
    );
    const command = new CommandLink(its);

    const answers = ['a:443', 'b:443', 'c:443'].map((place) => command.ask(place, patienceMs));
    expect(await link.isAlive(patienceMs)).toBe(true);
    settles.get('c:443')!(undefined);
    settles.get('b:443')!(false);
    settles.get('a:443')!(true);

    expect(await Promise.all(answers)).toEqual([true, false, undefined]);
    expect(told).toEqual([]);
  });

  it('stays without an answer where the program is silent or gone', async () => {
    const [ours, its] = duplexPair();
    const command = new CommandLink(its);
    expect(await command.ask('a:443', 20)).toBeUndefined();
    const asked = command.ask('a:443', patienceMs);

    its.destroy();

    expect(await asked).toBeUndefined();
    expect(await command.ask('a:443', patienceMs)).toBeUndefined();
    ours.destroy();
  });

  it('is not answered by what is no verdict, nor by one that comes too late', async () => {
    const [ours, its] = duplexPair();
    const command = new CommandLink(its);
    await command.ask('a:443', 1);
    const asked = Promise.all([command.ask('b:443', patienceMs), command.ask('c:443', patienceMs)]);

    ours.write('noise\nnull\n7\n{"verdict":1,"isAllowed":true}\n{"verdict":"2"}\n{"later":2}\n');
    ours.write('{"verdict":2,"isAllowed":false}\n{"verdict":3,"isAllowed":"true"}\n');

    expect(await asked).toEqual([false, undefined]);
  });

  it('is over for places of which that is told, after an answer that came with it', async () => {
    const [ours, its] = duplexPair();
    const heard: unknown[] = [];
    const link = new StatusLink(
      ours,
      () => undefined,
      () => Promise.resolve(true),
    );
    const ended = new Promise<void>((resolve) => {
      const command = new CommandLink(its);
      command.onEnded = (places) => {
        heard.push(places);
        resolve();
      };
      void command.ask('a:443', patienceMs).then((isAllowed) => heard.push(isAllowed));
    });
    ours.once('data', () => process.nextTick(() => link.endGrants(['a:443', 'b:443'])));

    await ended;

    expect(heard).toEqual([true, ['a:443', 'b:443']]);
  });

  it('does not fail when the command has ended before the answer', async () => {
    const [ours, its] = duplexPair();
    let answer: (isAllowed: boolean) => void;
    const asked = new Promise<void>((resolve) => {
      const onAsks = (): Promise<boolean> => {
        resolve();
        return new Promise((settle) => (answer = settle));
      };
      new StatusLink(ours, () => undefined, onAsks);
    });
    void new CommandLink(its).ask('a:443', patienceMs);
    await asked;
    ours.destroy();

    answer!(true);

    expect(await idleLink(ours).isAlive(20)).toBe(false);
  });
});

test('what a command tells unasked is told apart from its answers, and the rest is nothing', async () => {
  const [ours, its] = duplexPair();
  const told: AgentStatus[] = [];
  const link = new StatusLink(ours, (status) => told.push(status), nobody);
  its.write(statusLine({ kind: 'delay', text: 'building' }));
  its.write('noise\n\nnull\n[]\n{"kind":1}\n{"ask":"alive","id":1}\n{"kind":"answer","id":99}\n');
  new CommandLink(its);

  await link.isAlive(patienceMs);

  expect(told).toEqual([{ kind: 'delay', text: 'building' }]);
});

test('a command that is killed with a question unread answers nothing, and throws nothing', async () => {
  const command = spawn('sleep', ['100'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] });
  const link = idleLink(command.stdio[3] as Duplex);
  const answer = link.isAlive(patienceMs);
  await once(command, 'spawn');

  command.kill('SIGKILL');

  expect(await answer).toBe(false);
});
