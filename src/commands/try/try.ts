/** `cai try`: turns with an agent in the terminal, through `cai --acp`, as an editor has them. */
import { constants } from 'node:os';
import { text as allOf } from 'node:stream/consumers';
import { version } from '../../../package.json';
import { ownProgram } from '../../agent/cai-program';
import { loadConfig } from '../../config/config';
import { CaiError, rpcCode } from '../../errors';
import type { Host } from '../../system/host';
import { printableLine } from '../../system/quoted';
import { declare } from '../support/command';
import { endSignals } from '../support/end-signals';
import { paintFor, plain, tell } from '../support/terminal';
import { Client, Ended, AnsweredError, type Json } from './client';
import { onMockHost } from './mock';
import { Person } from './person';
import { View } from './view';

export const run = declare<{ readonly mock?: true }>({
  name: 'try',
  description: `Talks with an agent in the terminal, by the command that editors start, in the current folder. Ctrl+C
    stops a turn; at the prompt, it leaves. With a prompt as an argument or on stdin, it ends after that turn, and refuses
    what the agent asks for.`,
  arguments: [
    ['[agent]', 'its name (default: "agent.default" in the configuration)'],
    ['[prompt...]', 'what to ask'],
  ],
  options: [['--mock', 'talk with an agent that needs no engine, model or sign-in, to see what a turn is']],
  action: async ({ mock }, host, args) => {
    if (mock !== true) return await talk(args[0], args.slice(1).join(' '), host);
    return await onMockHost(
      host,
      async (agent, mocked) => await talk(agent, args.join(' '), mocked, mockHint),
    );
  },
});

const mockHint = 'This agent is a mock. Write something, and it asks you; write "count" for a turn to stop.';

/** `hint`: what somebody at the terminal is told first. */
async function talk(name: string | undefined, words: string, host: Host, hint?: string): Promise<number> {
  const agent = name ?? loadConfig(host).agent.default;
  const isTerminal = host.isOnTerminal;
  const given = words !== '' || isTerminal ? words : await allOf(process.stdin);
  if (!isTerminal && given.trim() === '')
    throw new CaiError('USAGE', 'there is no prompt: give it as an argument, or on stdin');
  const view = new View(process.stdout, paintFor(host) === plain);
  const person = given === '' ? new Person() : undefined;
  // What is logged is for `cai logs`; here it would stand between the agent's words.
  const env = { CAI_LOG_LEVEL: 'silent', ...host.env };
  const questions = new Questions(view, person);
  const client = new Client(
    ownProgram(['--acp', agent]),
    { cwd: host.cwd, env },
    {
      onNotification: (method, params) => {
        if (method === 'session/update') view.update(params);
      },
      onRequest: (method, params) =>
        method === 'session/request_permission' ? questions.ask(params) : undefined,
    },
  );
  let signalled: number | undefined;
  for (const signal of endSignals)
    process.once(signal, () => {
      signalled = 128 + constants.signals[signal];
      person?.leave();
      void client.close();
    });
  try {
    const leave = (): void => void client.close();
    // An image may be built, which takes minutes.
    person?.on('interrupt', leave);
    const sessionId = await open(client, host, agent);
    person?.off('interrupt', leave);
    const status = await turns({ client, sessionId, view, questions, person }, given, hint);
    return signalled ?? status;
  } catch (error) {
    // It has said on stderr why.
    if (error instanceof Ended) return await client.ended.then((status) => signalled ?? status);
    throw error instanceof AnsweredError ? new CaiError('AGENT_START', error.message) : error;
  } finally {
    person?.leave();
    await client.close();
  }
}

/** Without a person one turn, with what was `given`. */
async function turns(each: Turn, given: string, hint: string | undefined): Promise<number> {
  const { view, person } = each;
  if (person === undefined) return (await turn(each, given)) ? 0 : 1;
  if (hint !== undefined) view.line(hint);
  view.line(view.dim('Ctrl+C stops a turn; at the prompt, it leaves.'));
  for (;;) {
    const text = await person.line('> ');
    if (text === undefined) return 0;
    if (text.trim() !== '') await turn(each, text);
  }
}

/** Resolves with the id of a session in the current folder. */
async function open(client: Client, { cwd }: Host, agent: string): Promise<unknown> {
  const clientInfo = { name: 'cai-try', title: 'cai try', version };
  await client.request('initialize', { protocolVersion: 1, clientCapabilities: {}, clientInfo });
  try {
    const { sessionId } = await client.request('session/new', { cwd, mcpServers: [] });
    return sessionId;
  } catch (error) {
    if (!(error instanceof AnsweredError) || error.code !== rpcCode.authRequired) throw error;
    throw new CaiError(
      'AGENT_START',
      error.message.includes('cai login')
        ? error.message
        : `${error.message}: run "cai login ${agent}", then try again`,
    );
  }
}

interface Turn {
  readonly client: Client;
  readonly sessionId: unknown;
  readonly view: View;
  readonly questions: Questions;
  readonly person: Person | undefined;
}

/** Resolves with whether the agent has come to its end. What it refuses is told. */
async function turn({ client, sessionId, view, questions, person }: Turn, text: string): Promise<boolean> {
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return void client.close();
    isStopping = true;
    questions.end();
    view.line(view.dim('  stopping; Ctrl+C once more leaves'));
    client.notify('session/cancel', { sessionId });
  };
  person?.on('interrupt', stop);
  questions.begin();
  try {
    const { stopReason } = await client.request('session/prompt', {
      sessionId,
      prompt: [{ type: 'text', text }],
    });
    view.endLine();
    const why = typeof stopReason === 'string' ? stopReason : 'the agent does not say why';
    if (why !== 'end_turn') view.line(view.dim(`  (${printableLine(why)})`));
    return why === 'end_turn';
  } catch (error) {
    if (!(error instanceof AnsweredError)) throw error;
    view.endLine();
    tell(error.message);
    return false;
  } finally {
    person?.off('interrupt', stop);
    questions.end();
  }
}

/** What the agent asks, one question after the other, and only while a turn runs that nobody has stopped. */
class Questions {
  #last: Promise<unknown> = Promise.resolve();
  #turn = new AbortController();

  constructor(
    private readonly view: View,
    private readonly person: Person | undefined,
  ) {
    this.end();
  }

  begin(): void {
    this.#turn = new AbortController();
  }

  /** Also withdraws the question that is open. */
  end(): void {
    this.#turn.abort();
  }

  async ask(params: Json): Promise<Json> {
    const { signal } = this.#turn;
    const asked = this.#last.then(() => permission(params, this.view, this.person, signal));
    // One that cannot be read keeps no other back.
    this.#last = asked.catch(() => undefined);
    return await asked;
  }
}

/**
 * Resolves with the outcome: the option that the person types; else the first that rejects, else none. Rejects with
 * `CaiError('INVALID_PARAMS')`.
 */
async function permission(
  params: Json,
  view: View,
  person: Person | undefined,
  isOver: AbortSignal,
): Promise<Json> {
  if (isOver.aborted) return { outcome: { outcome: 'cancelled' } };
  const { text, options } = view.questionOf(params);
  view.line(text);
  const numbers = options.map((_, index) => String(index + 1));
  const short = Object.entries({ y: 'allow_once', n: 'reject_once' }).flatMap(([letter, wanted]) => {
    const number = numbers[options.findIndex(({ kind }) => kind === wanted)];
    return number === undefined ? [] : [[letter, number]];
  });
  const byLetter = Object.fromEntries(short) as Record<string, string>;
  const answer = await person?.answer(numbers, byLetter, isOver);
  const chosen =
    answer === undefined ? options.find(({ kind }) => kind === 'reject_once') : options[Number(answer) - 1];
  if (chosen === undefined) return { outcome: { outcome: 'cancelled' } };
  if (answer === undefined) view.line(view.dim(`  ${printableLine(chosen.name)}`));
  return { outcome: { outcome: 'selected', optionId: chosen.optionId } };
}
