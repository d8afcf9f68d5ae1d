/**
 * Finds the row of a method, also for methods that `methods.ts` does not list. An agent's method that acts, by its name,
 * on files or commands is withheld from editors: with it, an agent could reach out of its container. Why:
 * docs/decisions/0005-what-is-withheld.md.
 */
import type { JsonObject } from '../json';
import {
  actingAgentMethod,
  agentMethods,
  editorMethods,
  refusedAgentMethod,
  unknownAgentMethod,
  unknownEditorMethod,
  type AgentRoute,
  type EditorRoute,
  type Method,
} from './methods';

/** ACP's own areas. All methods that ACP has there have a row; an editor cannot offer more. */
const ownAreas = words('fs terminal proxy');

const acting = words(
  'fs file files filesystem folder folders directory directories dir terminal terminals tty pty shell process processes subprocess exec execute eval spawn',
);

/** So does a method with a word of `verbs` and one of `things`. */
const verbs = words(
  'run start launch invoke send kill open show apply read write edit create delete remove rename move copy save replace patch',
);
const things = words(
  'command commands program programs script scripts url urls uri uris link links document documents buffer buffers path paths',
);

/** How the methods begin that only we call: `cai serve` does. */
const ownPrefix = '_containai/';

/** The row of a method that the editor calls. */
export function editorRow(method: string): Method<EditorRoute> {
  return Object.hasOwn(editorMethods, method) ? editorMethods[method]! : unknownEditorMethod;
}

/** The row of a method that an agent calls. */
export function agentRow(method: string): Method<AgentRoute> {
  if (Object.hasOwn(agentMethods, method)) return agentMethods[method]!;
  if (method.toLowerCase().startsWith(ownPrefix)) return refusedAgentMethod;
  const restriction = restrictionOf(method);
  if (restriction === undefined) return unknownAgentMethod;
  return restriction === 'never' ? refusedAgentMethod : actingAgentMethod;
}

/**
 * When a method without a row may be passed to an editor: never, if the editor has announced it, or (undefined) always.
 * Its name is read as words, of which only the letters count.
 */
export function restrictionOf(method: string): 'never' | 'announced' | undefined {
  const named = wordsOf(method);
  if (ownAreas.has(named[0] ?? '') && !method.startsWith('_')) return 'never';
  return acts(named) ? 'announced' : undefined;
}

/**
 * Whether the editor has announced a method: `clientCapabilities._meta` has its name, or that of whoever has made it,
 * which is what stands before the first `/`, and what stands there is neither `null` nor `false`. The underscore with
 * which ACP has such methods begin may be missing. Source: ACP v1, extensibility.
 */
export function isAnnounced(method: string, { _meta: meta }: JsonObject): boolean {
  if (typeof meta !== 'object' || meta === null) return false;
  const maker = method.slice(0, Math.max(0, method.indexOf('/')));
  const names = acts(wordsOf(maker)) ? [method] : [method, maker];
  return names
    .flatMap((name) => [name, name.replace(/^_/, '')])
    .some(
      (name) => name !== '' && Object.hasOwn(meta, name) && ((meta as JsonObject)[name] ?? false) !== false,
    );
}

function acts(named: readonly string[]): boolean {
  const has = (some: ReadonlySet<string>) => named.some((word) => some.has(word));
  return has(acting) || (has(verbs) && has(things));
}

/** `_zed.dev/fs/readTextFile`: zed, dev, fs, read, text, file. Letters that only look different are the same. */
function wordsOf(method: string): string[] {
  return method
    .normalize('NFKC')
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}
