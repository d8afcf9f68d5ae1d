/** The question whether a command may connect to a place without a rule: on a terminal, and in the turn of an editor. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Json } from '../support/inbox';
import { agentParams } from '../agents/transcript';
import { acpx, oneTurn, provideClients, type Talk } from './clients';
import { Editor } from './editor';
import { modelConfig, modelEnv, provideImages, startModel } from './model';
import { Place, buildTimeoutMs } from './place';
import type { Running } from './running';
import { Services, content, host } from './services';
import { Cai } from './support';

const services = new Services();
let url: string;
/** Host and port. */
let at: string;

beforeAll(async () => {
  await services.open();
  at = `${host}:${services.portFor(80)}`;
  url = `http://${at}/content`;
  await provideImages('claude');
}, buildTimeoutMs);
afterAll(() => services.close());

const config = `[container]\nextra_hosts = ["${host}:127.0.0.1"]\n`;

/** The rules of the user for a workspace, as `cai network` tells them. */
async function rulesOf({ cai, workspace }: Place): Promise<string> {
  return (await cai.run(['network', '-w', workspace])).stdout.toString();
}

describe('on a terminal', () => {
  let place: Place;
  beforeAll(async () => (place = await new Place(new Cai(config)).opened()));

  /** Runs curl twice, and gives this answer to the first question; what the terminal shows. */
  async function answered(key: string, options = ['-t']): Promise<string> {
    const script = `curl -sS ${url}; echo; curl -sS ${url}`;
    const program = place.cai.startInTerminal(place.args(['sh', '-c', script], options));
    await program.says(`wants to connect to ${at}: allow?`);
    // What is typed too soon was meant for the command.
    await pause(700);
    program.child.stdin.write(key);
    return (await shown(program)).replace(/\r/g, '');
  }

  async function shown(program: Running): Promise<string> {
    return (await program.succeeds()).stdout.toString();
  }

  test.each([
    ['o', ['-t']],
    ['o\n', []],
  ])(
    'the command goes on after %j with the options %j, and is not asked about again',
    async (key, options) => {
      const said = await answered(key, options);

      expect(said).toMatch(new RegExp(`allowed\\s+${content}\\s+${content}$`));
      expect(said.match(/allow\?/g)).toHaveLength(1);
      expect(await rulesOf(place)).not.toContain(at);
    },
  );

  test('"a" is kept for all commands of the workspace', async () => {
    await answered('a');

    expect(await rulesOf(place)).toContain(at);
    expect(await place.prints(['curl', '-sS', url])).toBe(content);
    await place.cai.run(['network', 'forget', at, '-w', place.workspace]);
    expect((await place.run(['curl', '-sS', url])).stdout.toString()).toContain('is not allowed');
  });
});

describe('in an editor', () => {
  const prompt = () => `[[shell curl -sS ${url}]]`;
  const title = () => `Connect to ${at}`;
  let place: Place;
  let editor: Editor;
  let session: string;

  beforeAll(async () => {
    place = await new Place(new Cai(modelConfig + config)).opened();
    await startModel(place.cai, place.workspace, 'claude');
    editor = await Editor.open(place.cai, 'claude', { cwd: place.workspace, env: modelEnv });
    session = await editor.newSession(place.workspace);
  });
  afterAll(async () => {
    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
  });

  /** A turn in which the card is answered so; all else is allowed. What the agent says, and how the card ends. */
  async function turn(optionId: string): Promise<{ said: string; cards: unknown[]; outcome: unknown }> {
    const cards: unknown[] = [];
    editor.serve('session/request_permission', ({ toolCall, options }) => {
      const isCard = (toolCall as Json).title === title();
      if (isCard) cards.push(toolCall);
      const usual = (options as { kind: string; optionId: string }[]).find(
        ({ kind }) => kind === 'allow_once',
      );
      return { outcome: { outcome: 'selected', optionId: isCard ? optionId : usual!.optionId } };
    });
    const before = editor.said(session).length;
    const answer = await editor.prompt(session, prompt());
    const ends = editor.messages.map(
      ({ params }) => (params as Json | undefined)?.update as Json | undefined,
    );
    const [card] = cards as Json[];
    const outcome = ends.findLast(
      (update) => update?.toolCallId === card?.toolCallId && update?.status,
    )?.status;
    expect(answer).toMatchObject({ result: { stopReason: 'end_turn' } });
    return { said: editor.said(session).slice(before), cards, outcome };
  }

  test('the command goes on when it is allowed in the turn, and is asked about again in the next', async () => {
    for (let count = 0; count < 2; count++) {
      const { said, cards, outcome } = await turn('turn');

      expect(said).toContain(content);
      expect(cards).toMatchObject([{ kind: 'fetch', title: title() }]);
      expect(outcome).toBe('completed');
    }
  });

  test('nothing is asked after "Always", and "cai network" shows it', async () => {
    await turn('workspace');

    expect(await turn('no')).toMatchObject({ said: expect.stringContaining(content) as string, cards: [] });
    expect(await rulesOf(place)).toContain(at);
    await place.cai.run(['network', 'forget', at, '-w', place.workspace]);
  });

  test.each<[string, (prompt: string) => Talk]>([
    ['acpx', (prompt) => acpx(place.cai, 'claude', place.workspace, 'exec', prompt)],
    [
      'an editor made with the official SDK',
      (prompt) => oneTurn(place.cai, 'claude', place.workspace, prompt),
    ],
  ])('%s answers the card', async (_, talk) => {
    await provideClients();

    const { client, transcript } = talk(prompt());
    await client.succeeds();

    expect(agentParams(transcript(), 'session/request_permission')).toContainEqual(
      expect.objectContaining({ toolCall: expect.objectContaining({ title: title() }) as Json }),
    );
    expect(JSON.stringify(transcript())).toContain(content);
  });
});
