/** What a user of acpx sees when the agent, or the way to it, is lost: the next prompt goes on. */
import { readdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { killIfThere } from '../agents/leftovers';
import { agentAnswers } from '../agents/transcript';
import { AcpxSession, provideClients } from './clients';
import { inNamespace } from './cluster';
import { isKubernetes } from './engines';
import { containerOf, processesIn, untilRuns } from './inside';
import { isNightly, tried } from '../support/nightly';
import { commandOf } from '../support/processes';
import { modelConfig, provideImages, startModel } from './model';
import { buildTimeoutMs } from './place';
import { Cai, docker, folder, newWorkspace } from './support';

let cai: Cai;
let workspace: string;
let container: string;
let session: AcpxSession;

beforeAll(async () => {
  await provideClients();
  await provideImages('claude');
  cai = new Cai(modelConfig);
  workspace = newWorkspace();
  await startModel(cai, workspace, 'claude');
}, buildTimeoutMs);

beforeEach(async () => {
  container = await containerOf(workspace, 'claude');
  session = new AcpxSession(cai, 'claude', workspace);
  await session.open();
  await say('one');
});

afterEach(() => session.close());

type Loss = [string, () => Promise<void>, { readonly isModelLost: boolean }];
const ofContainer: Loss[] = [
  ['sshd was killed, and all that it had started', killSshd, { isModelLost: true }],
  ['the container was killed', () => endContainer('kill'), { isModelLost: true }],
];
const ofExec: Loss[] = [['cai exec was killed', killExec, { isModelLost: false }]];
const others: Loss[] = [
  // The last test kills it in a turn.
  ['the agent was killed', killAgent, { isModelLost: false }],
  ['the container was stopped', () => endContainer('stop'), { isModelLost: true }],
];
/** On pods the first are what differs. */
const losses = isKubernetes
  ? tried(ofContainer, [...ofExec, ...others])
  : tried([...ofContainer, ...ofExec], others);

describe('claude', () => {
  test.each(losses)(
    'goes on with the next prompt, in the same session, after %s between turns',
    async (_, damage, { isModelLost }) => {
      await damage();
      await untilNoticed();
      // What was lost in the container comes back with it, but for the model.
      if (isModelLost) await startModel(cai, workspace, 'claude');

      await say('two');

      expectTurns('one', 'two');
      expect(repliesOf('one')).toBe(1);
    },
  );

  // A new proxy loads a session in coming-back.test.ts, too.
  if (isNightly)
    test('goes on with the next prompt after the proxy was killed between turns, which acpx starts again', async () => {
      killOnHost((command) => command.includes('/bin/cai --acp'));

      await say('two');

      expect(repliesOf('two')).toBe(1);
    });

  test('fails the prompt in whose turn it is killed, once and with the cause, and goes on with the next', async () => {
    const turn = session.prompt('[[shell (setsid sleep 610 &); sleep 611]]');
    await untilRuns(container, 'sleep 611');
    await killAgent();
    const { status, stdout } = await turn.ends();
    await say('three');

    expect(status).not.toBe(0);
    expect(stdout.toString()).toContain('was killed by SIGKILL');
    expect(agentAnswers(session.transcript(), 'session/prompt')).toMatchObject([
      { result: { stopReason: 'end_turn' } },
      { error: { code: -32603 } },
      { result: { stopReason: 'end_turn' } },
    ]);
  });
});

/** A turn that must succeed. */
async function say(text: string): Promise<void> {
  await session.prompt(text).succeeds();
}

/** acpx has sent these prompts on one connection and session, each was answered, and no load was needed. */
function expectTurns(...texts: string[]): void {
  const transcript = session.transcript();
  const turns = texts.map(() => ({ result: { stopReason: 'end_turn' } }));
  expect(agentAnswers(transcript, 'session/prompt')).toMatchObject(turns);
}

/** How often the editor has been told the answer to a prompt. */
function repliesOf(text: string): number {
  const lines = session.transcript().map((entry) => JSON.stringify(entry));
  return lines.filter((line) => line.includes('agent_message_chunk') && line.includes(`Echo: ${text}`))
    .length;
}

/** As somebody does who has the engine; a pod is deleted, with its time to end or without. */
async function endContainer(how: 'stop' | 'kill'): Promise<void> {
  if (!isKubernetes) await docker(how, container);
  else inNamespace('delete', 'pod', container, ...(how === 'kill' ? ['--grace-period=0', '--force'] : []));
}

async function killAgent(): Promise<void> {
  await kill((command) => /node .*claude-agent-acp/.test(command));
}

async function killSshd(): Promise<void> {
  await kill((command) => command.includes('sshd'));
}

/** What is sent before that is lost with the turn: the node of a pod keeps a connection for another second. */
async function untilNoticed(): Promise<void> {
  while (onHost(isExecOfAgent).length > 0) await pause(50);
}

/** Kills processes of the container. */
async function kill(isMeant: (command: string) => boolean): Promise<void> {
  const meant = (await processesIn(container)).filter(({ command }) => isMeant(command));
  expect(meant).not.toEqual([]);
  // Some end with what has kept them.
  for (const { pid } of meant) killIfThere(pid);
}

/** Kills the program between the proxy and the container. */
function killExec(): Promise<void> {
  killOnHost(isExecOfAgent);
  return Promise.resolve();
}

const isExecOfAgent = (command: string): boolean =>
  command.includes('/bin/cai exec') && command.includes('--status-fd');

/** Kills processes of `cai` on this machine. */
function killOnHost(isMeant: (command: string) => boolean): void {
  const meant = onHost(isMeant);
  expect(meant).not.toEqual([]);
  for (const pid of meant) killIfThere(Number(pid));
}

/** Ids of processes of `cai` on this machine. */
function onHost(isMeant: (command: string) => boolean): string[] {
  return readdirSync('/proc').filter((name) => {
    const command = /^\d+$/.test(name) ? commandOf(name) : '';
    return command.includes(`${folder}/package/bin/cai `) && isMeant(command);
  });
}
