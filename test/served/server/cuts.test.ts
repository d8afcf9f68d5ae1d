/**
 * Ways that break at random places while messages of all kinds pass: each arrives exactly once and in its order, or what
 * was under way fails with the error that is documented for it. `CAI_CUTS` sets how often, `CAI_SEED` where.
 */
import { join, resolve } from 'node:path';
import { CuttingProxy, type Cut } from '../client/cutting-proxy';
import { Editor } from '../client/editor';
import { isNightly } from '../../support/nightly';
import { patienceMs } from '../../support/patience';
import { Served } from '../../support/served';
import { newFolder } from '../../support/temp-folder';
import { HttpWire } from './cuts/http-wire';
import { NumberedEditor } from './cuts/numbered-editor';
import { Random, randomCut, seed } from './cuts/random';
import { faultsBesideLoss, faultsOf, lostTurns, recordOf } from './cuts/verdict';

const cuts = Number(process.env.CAI_CUTS ?? (isNightly ? 1_000 : 8));
jest.setTimeout(10 * patienceMs);
/** Each editor is two programs, with an agent. */
const [editorsAtOnce, sessions] = cuts < 1_000 ? [2, 2] : [8, 3];

let server: Served;
let cwd: string;
let proxy: CuttingProxy;
let record: string;
let isOver: () => boolean;
let programs: Editor[] = [];
let wires: HttpWire[] = [];

afterEach(async () => {
  for (const wire of wires) wire.close();
  proxy.close();
  for (const { process } of programs) process.kill('SIGKILL');
  await Promise.all(programs.map((program) => program.ended()));
  programs = [];
  wires = [];
  await server.end();
});

/** These fall silent in one direction and stay open, which either end notices in half a minute or more. */
const silent: readonly Cut[] = [
  { to: Infinity, from: Infinity, silentFrom: 20_000 },
  { to: Infinity, from: Infinity, silentTo: 5_000 },
];

/** A server with these settings, and a way to it that breaks so often; `isStream`: as of `randomCut`. */
async function start(
  settings: string,
  count: number,
  { isStream = false, first = [] as readonly Cut[] } = {},
) {
  const random = new Random(seed);
  const left = [...first];
  isOver = () => proxy.broken >= count;
  proxy = new CuttingProxy(0, () => left.shift() ?? (isOver() ? undefined : randomCut(random, isStream)));
  record = join(newFolder(), 'record');
  const agent = [process.execPath, resolve(__dirname, 'cuts/agent.mjs'), record];
  const hosts = `hosts = ["127.0.0.1:${await proxy.listen()}"]`;
  const config = `[serve]\n${hosts}\nconnections = 1000\n${settings}`;
  server = await Served.start({ agents: { it: agent }, config });
  cwd = server.workspace('a');
  proxy.port = Number(new URL(server.url).port);
}

/** An editor behind `cai connect`, until there were enough cuts. */
async function connected(_: unknown, number: number): Promise<NumberedEditor> {
  const env = { XDG_STATE_HOME: server.stateFolder, CAI_LOG_LEVEL: 'silent' };
  const program = new Editor([`ws://127.0.0.1:${proxy.listensAt}`], env);
  programs.push(program);
  const wire = { send: (message: object) => program.send({ ...message }) };
  const editor = new NumberedEditor(`editor ${number}`, wire, new Random(seed + number));
  let isTaking = true;
  const taking = (async () => {
    for (;;) {
      const message = await program.inbox.next(() => isTaking);
      editor.take(message);
    }
  })();
  await Promise.race([editor.run(cwd, sessions, isOver), taking]);
  isTaking = false;
  const left = program.leave();
  await taking.catch(() => undefined);
  expect(await left).toBe(0);
  for (const message of program.inbox.takeAll()) editor.take(message);
  return editor;
}

/** An editor that speaks Streamable HTTP, until there were enough cuts. */
async function posting(_: unknown, number: number): Promise<NumberedEditor> {
  const wire = new HttpWire(proxy.port, proxy.listensAt, server.owner);
  wires.push(wire);
  const editor = new NumberedEditor(`editor ${number}`, wire, new Random(seed + number));
  await Promise.race([editor.run(cwd, sessions, isOver), wire.receive((message) => editor.take(message))]);
  return editor;
}

const times = (count: number): unknown[] => Array.from({ length: count });

test(`over ${cuts} cuts every message arrives once and in order (CAI_SEED=${seed})`, async () => {
  await start('keep = "256MiB"\nkeep_messages = 1000000', cuts, { first: cuts < 1_000 ? [] : silent });

  const editors = await Promise.all(times(editorsAtOnce).map(connected));

  expect(faultsOf(editors, recordOf(record))).toEqual([]);
});

test(`what is not kept for long enough fails as documented, and nothing else (CAI_SEED=${seed})`, async () => {
  await start('keep = "8KiB"', Math.max(10, cuts / 4));

  const editors = await Promise.all(times(Math.min(4, editorsAtOnce)).map(connected));

  expect(faultsBesideLoss(editors, recordOf(record))).toEqual([]);
  expect(lostTurns(editors)).toBeGreaterThan(0);
});

test(`over ${cuts} cuts every event of HTTP arrives once and in order (CAI_SEED=${seed})`, async () => {
  await start('keep = "256MiB"\nkeep_messages = 1000000', cuts, { isStream: true });

  const editors = await Promise.all(times(Math.min(4, editorsAtOnce)).map(posting));

  expect(faultsOf(editors, recordOf(record))).toEqual([]);
});
