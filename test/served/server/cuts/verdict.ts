/** What was lost, doubled or out of order, by what editors have seen and what their agents have recorded. */
import { readFileSync } from 'node:fs';
import type { Json } from '../../../support/inbox';
import type { NumberedEditor, Turn } from './numbered-editor';

/** What an agent has recorded: of a session and a turn. */
type Entry = Json & { readonly session?: string; readonly turn?: number };

/** All that agents have recorded in that file. */
export function recordOf(file: string): readonly Entry[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);
}

/** Of turns none of which may have failed. */
export function faultsOf(editors: readonly NumberedEditor[], record: readonly Entry[]): string[] {
  const faults = editors.flatMap((each) => [...each.faults, ...each.unopened]);
  const sessions = editors.flatMap((each) => each.sessions);
  faults.push(...record.filter((entry) => 'unasked' in entry).map((entry) => JSON.stringify(entry)));
  for (const { name, turns } of sessions) {
    for (const turn of turns) faults.push(...faultsOfTurn(turn).map((fault) => `${name}: ${fault}`));
    const seen = record.filter(({ session, cancel }) => session === name && cancel === undefined);
    const wanted = turns.flatMap(entriesOf);
    if (JSON.stringify(seen) !== JSON.stringify(wanted))
      faults.push(`${name}: the agent has got ${firstDifference(seen, wanted)}`);
    const cancels = record.filter(({ session, cancel }) => session === name && cancel !== undefined);
    const cancelled = turns.filter(({ order }) => order.waits).map(({ order }) => order.turn);
    if (JSON.stringify(cancels.map(({ turn }) => turn)) !== JSON.stringify(cancelled))
      faults.push(`${name}: the agent has got cancels ${JSON.stringify(cancels)}`);
  }
  return faults;
}

/** How many turns have failed because the connection was lost. */
export function lostTurns(editors: readonly NumberedEditor[]): number {
  const turns = editors.flatMap(({ sessions }) => sessions.flatMap((session) => session.turns));
  return turns.filter(isLost).length;
}

/**
 * Of turns that may have failed because the connection was lost. Of those updates may be missing, but none may come twice,
 * and no question of an agent may be left, nor be answered twice.
 */
export function faultsBesideLoss(editors: readonly NumberedEditor[], record: readonly Entry[]): string[] {
  const faults = editors.flatMap((each) => each.faults);
  faults.push(...record.filter((entry) => 'unasked' in entry).map((entry) => JSON.stringify(entry)));
  for (const { name, turns } of editors.flatMap((each) => each.sessions)) {
    const its = record.filter(({ session }) => session === name);
    for (const turn of turns) {
      const got = its.filter((entry) => entry.turn === turn.order.turn && entry.cancel === undefined);
      const isWhole = JSON.stringify(got) === JSON.stringify(entriesOf(turn));
      if (!isWhole && !(got.length === 0 && isLost(turn)))
        faults.push(`${name}: the agent has got ${firstDifference(got, entriesOf(turn))}`);
      if (!isLost(turn)) faults.push(...faultsOfTurn(turn).map((fault) => `${name}: ${fault}`));
      const cancels = its.filter(({ turn: of, cancel }) => of === turn.order.turn && cancel === 'first');
      if (cancels.length > 1 || (turn.order.waits && !isLost(turn) && cancels.length === 0))
        faults.push(`${name}: turn ${turn.order.turn} was cancelled ${cancels.length} times`);
    }
  }
  return faults;
}

/** By the error that is documented. */
function isLost({ answer }: Turn): boolean {
  const { code, message } = (answer?.error ?? {}) as Json;
  return (
    code === -32603 &&
    String(message).startsWith('The connection to the server was lost in the middle of the turn')
  );
}

function faultsOfTurn({ order, updates, answer }: Turn): string[] {
  const { turn } = order;
  const result = answer?.result as Json | undefined;
  if (result === undefined) return [`turn ${turn} got ${JSON.stringify(answer)}`];
  const its = (result._meta as Json).turn;
  const faults = its === turn ? [] : [`turn ${turn} got the answer of turn ${String(its)}`];
  if (updates.length !== order.updates)
    faults.push(`turn ${turn} has ${updates.length} of ${order.updates} updates`);
  return faults;
}

/** What an agent records of a turn that goes well, but for cancels. */
function entriesOf({ order, padding }: Turn): Entry[] {
  const { session, turn, permissions } = order;
  const answers = Array.from({ length: permissions }, (_, index) => index + 1).flatMap((number) => [
    { session, turn, asked: number },
    { session, turn, answered: number, answer: `${turn} ${number}` },
  ]);
  return [{ session, turn, prompt: padding }, ...answers];
}

function firstDifference(seen: readonly unknown[], wanted: readonly unknown[]): string {
  const texts = [seen, wanted].map((list) => list.map((each) => JSON.stringify(each)));
  const at = texts[0]!.findIndex((text, index) => text !== texts[1]![index]);
  const from = at < 0 ? texts[0]!.length : at;
  return `${texts[0]!.slice(from, from + 3).join()} instead of ${texts[1]!.slice(from, from + 3).join()}`;
}
