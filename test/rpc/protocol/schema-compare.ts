/** Compares the tables of `src/acp` with schemas of ACP. A finding is a sentence that names what to decide. */
import * as fields from '../../../src/rpc/protocol/fields';
import type { FieldKind, FieldTree } from '../../../src/rpc/protocol/fields';
import { agentMethods, editorMethods, type Method } from '../../../src/rpc/protocol/methods';
import { extensions, leftAlone, methodsWithoutRow, type Decision } from './decided';
import { methodsOf, placesOf, type Place, type Schema } from './schema-walk';

/** The two schemas of one protocol version; `unstable` has all that `stable` has. */
export interface Schemas {
  stable: Schema;
  unstable: Schema;
}

type Sender = 'editor' | 'agent';
interface Row {
  readonly sender: Sender;
  readonly method: string;
  readonly row: Method<string>;
}

const rows: Row[] = [
  ...Object.entries(editorMethods).map(([method, row]) => ({ sender: 'editor' as const, method, row })),
  ...Object.entries(agentMethods).map(([method, row]) => ({ sender: 'agent' as const, method, row })),
];

/** Schema types whose every place must have one of those kinds. */
const kindsOfType: Readonly<Record<string, readonly FieldKind[]>> = {
  SessionId: ['session', 'sessionRef', 'listed'],
  RequestId: ['requestId'],
  ElicitationId: ['elicitationId'],
};

/** Kinds whose value is read as a whole, with all that is below. */
const wholes: readonly FieldKind[] = ['authMethods', 'terminalArgs', 'terminalEnv'];

/** Rows that are missing, too many, or of another origin than the schemas say. */
export function methodFindings({ stable, unstable }: Schemas): string[] {
  const stableNames = new Set(sendersAndMethods(stable));
  const names = new Set([...stableNames, ...sendersAndMethods(unstable)]);
  const findings: string[] = [];
  for (const name of names) {
    const row = rows.find(({ sender, method }) => name === `${sender} ${method}`)?.row;
    const origin = stableNames.has(name) ? 'stable' : 'unstable';
    if (!row) findings.push(`${name}: no row`);
    else if (row.origin !== origin) findings.push(`${name}: ${origin}, the row says ${row.origin}`);
  }
  for (const { sender, method, row } of rows) {
    const isKnown = names.has(`${sender} ${method}`);
    if (row.origin !== 'extension' && !isKnown) findings.push(`${sender} ${method}: in no schema`);
  }
  const all = methodsOf(unstable).map(({ method }) => method);
  const stale = Object.keys(methodsWithoutRow).filter((method) => !all.includes(method));
  return [...findings, ...stale.map((method) => `${method}: decided, but in no schema`)].sort();
}

/** Places that nobody decided about, that no schema has, or that have the wrong kind; needless decisions. */
export function placeFindings(schemas: Schemas): string[] {
  const needed = new Set<string>();
  const isDecided = (decisions: readonly Decision[], at: string): boolean => {
    const tails = decisions.flatMap(({ places }) => places).filter((tail) => `/${at}`.endsWith(`/${tail}`));
    for (const tail of tails) needed.add(tail);
    return tails.length > 0;
  };
  const findings = surfaces(schemas).flatMap(({ name, tree, places }) => [
    ...places.flatMap((place) => {
      const kind = kindAt(tree, place.pointer.split('/'));
      const at = `${name}/${place.pointer}`;
      if (kind !== undefined) return isFit(kind, place) ? [] : [`${at}: must not be ${kind}`];
      return !isTelling(place) || isDecided(leftAlone, at) ? [] : [`${at}: not decided`];
    }),
    ...leavesOf(tree)
      .filter((leaf) => !places.some((place) => has(place, leaf.pointer) && (place.leaf ?? leaf.isWhole)))
      .map(({ pointer }) => `${name}/${pointer}`)
      .filter((at) => !isDecided(extensions, at))
      .map((at) => `${at}: in no schema`),
  ]);
  const tails = [...leftAlone, ...extensions].flatMap(({ places }) => places);
  const stale = tails.filter((tail) => !needed.has(tail));
  return [...new Set(findings), ...stale.map((tail) => `${tail}: decided, but nothing needs it`)].sort();
}

/** Capabilities of rows that the schemas do not have. */
export function capabilityFindings({ unstable }: Schemas): string[] {
  const offers = {
    editor: placesOf(unstable, 'AgentCapabilities'),
    agent: placesOf(unstable, 'ClientCapabilities'),
  };
  return rows
    .filter(({ sender, row: { capability, origin } }) => {
      const pointer = capability?.replaceAll('.', '/');
      return (
        pointer !== undefined &&
        origin !== 'extension' &&
        !offers[sender].some((place) => place.pointer === pointer)
      );
    })
    .map(({ sender, method, row }) => `${sender} ${method}: no capability ${row.capability}`);
}

function sendersAndMethods(schema: Schema): string[] {
  return methodsOf(schema)
    .filter(({ method }) => !(method in methodsWithoutRow))
    .flatMap(({ method, side }) => sendersTo(side).map((sender) => `${sender} ${method}`));
}

function sendersTo(side: string): Sender[] {
  if (side === 'agent') return ['editor'];
  if (side === 'client') return ['agent'];
  return ['editor', 'agent'];
}

interface Surface {
  readonly name: string;
  readonly tree: FieldTree;
  readonly places: Place[];
}

/** Params and result of every row that a schema has, and the error object. */
function surfaces(schemas: Schemas): Surface[] {
  const found = rows.flatMap(({ sender, method, row }) => {
    const isOurs = ({ method: name, side }: { method: string; side: string }) =>
      name === method && sendersTo(side).includes(sender);
    const described = methodsOf(schemas.unstable).find(isOurs);
    if (!described || row.route === 'refuse') return [];
    return [
      { name: `${method}/params`, tree: row.params, types: described.params },
      { name: `${method}/result`, tree: row.result, types: described.results },
    ];
  });
  return [...found, { name: 'error', tree: fields.errorObject, types: ['Error'] }].map(
    ({ name, tree, types }) => ({
      name,
      tree,
      places: types.flatMap((type) =>
        [schemas.unstable, schemas.stable].flatMap((schema) =>
          schema.$defs[type] ? placesOf(schema, type) : [],
        ),
      ),
    }),
  );
}

/** It could hold a path, a URI or an id: not so a mere number, unless it is called an id. */
function isTelling({ pointer, leaf }: Place): boolean {
  return leaf === 'text' || leaf === 'any' || (leaf === 'number' && /(^|\/)id$|Id$/.test(pointer));
}

/** What the tree names at a place. A key without a variant holds for all variants. */
function kindAt(tree: FieldTree | FieldKind | undefined, [step, ...rest]: string[]): FieldKind | undefined {
  if (tree === undefined || step === undefined) return typeof tree === 'string' ? tree : undefined;
  if (typeof tree === 'string') return wholes.includes(tree) ? tree : undefined;
  if (!step.startsWith('?')) return kindAt(tree[step], rest);
  const [tag, value] = splitVariant(step);
  const variants = tree[tag];
  const variant = typeof variants === 'object' ? variants[value] : undefined;
  return kindAt(tree, rest) ?? kindAt(variant, rest);
}

/** The kind is one that the schema's type of the place allows. */
function isFit(kind: FieldKind, place: Place): boolean {
  return place.types.every((type) => kindsOfType[type]?.includes(kind) ?? true);
}

interface Leaf {
  readonly pointer: string;
  /** It is about an object or array. */
  readonly isWhole: boolean;
}

function leavesOf(tree: FieldTree, at: string[] = []): Leaf[] {
  return Object.entries(tree).flatMap(([key, below]) => {
    if (key === '=') return [{ pointer: at.join('/'), isWhole: true }];
    // What tells the variants apart is in the schema as their names.
    if (`?${key}` in tree) return [];
    if (typeof below === 'string')
      return [{ pointer: [...at, key].join('/'), isWhole: wholes.includes(below) }];
    if (!key.startsWith('?')) return leavesOf(below, [...at, key]);
    return Object.entries(below).flatMap(([value, variant]) =>
      typeof variant === 'string' ? [] : leavesOf(variant, [...at, `${key}=${value}`]),
    );
  });
}

/** The pointer names that place, be it without some of its variants. */
function has(place: Place, pointer: string): boolean {
  const wanted = pointer.split('/');
  for (const step of place.pointer.split('/')) {
    if (step === wanted[0]) wanted.shift();
    else if (!step.startsWith('?')) return false;
  }
  return wanted.length === 0;
}

function splitVariant(step: string): [string, string] {
  const end = step.indexOf('=');
  return [step.slice(0, end), step.slice(end + 1)];
}
