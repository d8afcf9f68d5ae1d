/** Whatever three clients and their processes say, in any order: `played-world.ts` has the rules. */
import fc from 'fast-check';
import { runs } from '../../../support/properties';
import { World, type Connection } from './played-world';

/** What a step does, and numbers by which it chooses among what there is. */
type Step = readonly [action: string, place: number, a: number, b: number];
type Action = (world: World, one: Connection, a: number, b: number, place: number) => void;

const methods = ['session/set_mode', 'session/set_config_option', 'session/fork', 'session/delete', 'x/y'];
const results: unknown[] = [null, [], 'x', { sessionId: 5 }, { modes: null }, [[]]];
/** Of calls that open no other session. */
const moreResults = [...results, { sessionId: 'x' }];

function request(method: string): Action {
  return (world, one, a) => {
    if (!one.isClientGone) world.request(one, method, { sessionId: chosen(world.ids, a)! });
  };
}

/** With how often they come. */
const actions: Readonly<Record<string, readonly [number, Action]>> = {
  new: [2, (world, one) => one.isClientGone || world.request(one, 'session/new', {})],
  load: [5, request('session/load')],
  resume: [3, request('session/resume')],
  prompt: [4, request('session/prompt')],
  close: [2, request('session/close')],
  other: [
    3,
    (world, one, a, b) => {
      const set = { modeId: 'm', configId: 'c' };
      if (!one.isClientGone)
        world.request(one, chosen(methods, b)!, { sessionId: chosen(world.ids, a)!, ...set });
    },
  ],
  cancel: [
    2,
    (world, one, a, b) => {
      if (one.isClientGone) return;
      const requestId = chosen([...one.open.keys()], a);
      if (requestId === undefined || b % 2 === 0)
        world.fromClient(one, { method: 'session/cancel', params: { sessionId: chosen(world.ids, b)! } });
      else world.fromClient(one, { method: '$/cancel_request', params: { requestId } });
    },
  ],
  reply: [
    4,
    (world, one, a, b) => {
      if (one.isClientGone) return;
      const from = b % 3 === 0 && one.void.size > 0 ? one.void : one.questions;
      const id = chosen([...from], a);
      if (id === undefined) return;
      from.delete(id);
      world.fromClient(one, b % 5 === 0 ? { id, error: { code: 1, message: 'x' } } : { id, result: {} });
    },
  ],
  answer: [
    12,
    (world, one, a, b) => {
      const call = chosen(one.calls, a);
      if (call === undefined || one.hasEnded) return;
      const usual = { sessionId: call.opens || undefined, configOptions: [], modes: {} };
      if (b % 6 === 0) world.answer(one, call, 'error');
      else
        world.answer(one, call, {
          result: b % 6 === 1 ? chosen(call.opens === '' ? moreResults : results, b) : usual,
        });
    },
  ],
  update: [
    10,
    (world, one, a, b) => {
      const own = [...one.has.keys()];
      const id = b % 10 === 0 ? chosen(world.ids, a) : chosen(own, a);
      if (id !== undefined && !one.hasEnded) world.update(one, id);
    },
  ],
  ask: [
    4,
    (world, one, a, b) => {
      const id = chosen([...one.has.keys()], a);
      const method = b % 4 === 0 ? 'fs/read_text_file' : 'session/request_permission';
      if (id !== undefined && !one.hasEnded) world.ask(one, id, method);
    },
  ],
  withdraw: [
    1,
    (world, one, a) => {
      const id = chosen([...one.answers.keys()], a);
      if (id !== undefined && !one.hasEnded) world.withdraw(one, id);
    },
  ],
  leave: [1, (world, one) => one.isClientGone || world.leave(one)],
  end: [1, (world, one) => one.hasEnded || world.end(one)],
  comeBack: [2, (world, one, _a, _b, place) => one.isClientGone && world.connect(place)],
};

const step: fc.Arbitrary<Step> = fc.tuple(
  fc.oneof(...Object.entries(actions).map(([name, [weight]]) => ({ weight, arbitrary: fc.constant(name) }))),
  fc.nat(8),
  fc.nat(59),
  fc.nat(59),
);
const limits = fc.constantFrom({ bytes: Infinity, lines: Infinity }, { bytes: Infinity, lines: 2 });

test('each gets what is for it, once, whoever says what and when', () => {
  fc.assert(
    fc.property(limits, fc.array(step, { minLength: 1, maxLength: 60, size: 'max' }), (keep, steps) => {
      const world = new World(keep);
      for (const [name, place, a, b] of steps) {
        const one = chosen(place < 3 ? world.present : world.all, place)!;
        actions[name]![1](world, one, a, b, world.present.indexOf(one));
      }
      world.finish();
    }),
    { ...runs, numRuns: runs.numRuns * 10 },
  );
});

function chosen<T>(from: readonly T[], by: number): T | undefined {
  return from[by % from.length];
}
