/** Statement U1, for each place of a path in the protocol: the editor's name of it, and the agent's. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FieldTree } from '../../src/rpc/protocol/fields';
import {
  agentMethods,
  editorMethods,
  unknownAgentMethod,
  unknownEditorMethod,
  type Method,
} from '../../src/rpc/protocol/methods';
import { exchange } from '../support/dialogue';
import type { Json } from '../support/inbox';
import type { OpenSession } from '../support/turn';
import { World } from '../support/world';
import { pathCases } from './path-cases';

const mount = '/home/agent/workspace';
const notifications = new Set(['session/update', '_session/list/changes']);
const pathKinds: readonly unknown[] = ['path', 'uri', 'cwd', 'root'];

/** Every place of a path in a tree, as the steps to it. */
function placesOf(tree: FieldTree, steps: readonly string[] = []): string[][] {
  return Object.entries(tree).flatMap(([step, below]) => {
    if (typeof below === 'string') return pathKinds.includes(below) ? [[...steps, step]] : [];
    if (!step.startsWith('?')) return placesOf(below, [...steps, step]);
    const variants = Object.entries(below as Readonly<Record<string, FieldTree>>);
    return variants.flatMap(([tag, variant]) => placesOf(variant, [...steps, `${step}=${tag}`]));
  });
}

/** What stands at a place of a value. */
function valuesAt(value: unknown, [step, ...rest]: readonly string[]): unknown[] {
  if (step === undefined) return [value];
  if (step === '*') return Array.isArray(value) ? value.flatMap((each) => valuesAt(each, rest)) : [];
  if (typeof value !== 'object' || value === null) return [];
  const [, tag, variant] = /^\?(.*?)=(.*)$/.exec(step) ?? [];
  if (tag === undefined) return valuesAt((value as Json)[step], rest);
  return ((value as Json)[tag] ?? '') === variant ? valuesAt(value, rest) : [];
}

/** The places of all methods, by the name of the case that has to have them. */
function allPlaces(): { name: string; steps: string[] }[] {
  const sides: Record<string, Readonly<Record<string, Method<unknown>>>> = {
    editor: { ...editorMethods, _unknown: unknownEditorMethod },
    agent: { ...agentMethods, _unknown: unknownAgentMethod },
  };
  return Object.entries(sides).flatMap(([side, methods]) =>
    Object.entries(methods).flatMap(([method, row]) =>
      (['params', 'result'] as const).flatMap((part) =>
        placesOf(row[part]).map((steps) => ({ name: `${side} ${method} ${part}`, steps })),
      ),
    ),
  );
}

describe('the places of paths', () => {
  const places = allPlaces();

  test('U1 each has a case, and each case has one', () => {
    const isCovered = ({ name, steps }: { name: string; steps: string[] }): boolean =>
      (pathCases[name]?.('/root', 's') ?? []).some((message) =>
        valuesAt(message, steps).some((value) => typeof value === 'string' && value.includes('/root')),
      );
    const missing = places.filter((place) => !isCovered(place));

    expect(missing.map(({ name, steps }) => `${name}: ${steps.join('/')}`)).toEqual([]);
    expect(new Set(places.map(({ name }) => name))).toEqual(new Set(Object.keys(pathCases)));
  });

  describe.each([
    ['where the workspace stands elsewhere for the agent', mount],
    ['where it stands at its own path', undefined],
  ])('%s', (_, agentRoot) => {
    let world: World;
    let root: string;
    let session: OpenSession;
    let lastId = 0;
    beforeAll(async () => {
      const env = agentRoot === undefined ? {} : { CAI_ACP_WORKSPACE_MOUNT: agentRoot };
      world = await World.initialized({ env, cwd: 'a project' });
      root = join(world.folder, 'a project');
      mkdirSync(join(root, 'src'));
      session = await world.session(root, 'agent-session');
    });
    afterAll(() => world.end());

    test.each(Object.entries(pathCases))('U1 %s', async (name, make) => {
      const [side, method, part] = name.split(' ') as [string, string, 'params' | 'result'];
      const forEditor = make(root, session.id);
      const forAgent = make(agentRoot ?? root, session.agentId);
      const isToAgent = side === 'editor' && part === 'params';

      const received: unknown[] = [];
      for (const message of isToAgent ? forEditor : forAgent) {
        if (isToAgent) received.push((await call(method, message, {})).request.params);
        else if (part === 'result') received.push((await call(method, listed(), message)).response.result);
        else received.push(await fromAgent(method, message));
      }

      expect(received).toEqual(isToAgent ? forAgent : forEditor);
    });

    async function call(method: string, params: Json, result: Json): ReturnType<typeof exchange> {
      return await exchange(world, session.agent, method, params, { result });
    }

    /** Params of the methods whose results list sessions. */
    function listed(): Json {
      return { sessionIds: [session.id] };
    }

    async function fromAgent(method: string, params: Json): Promise<unknown> {
      session.agent.send({ ...(notifications.has(method) ? {} : { id: ++lastId }), method, params });
      return (await world.editor.next(method)).params;
    }
  });
});
