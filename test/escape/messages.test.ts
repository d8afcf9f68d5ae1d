/** Attacks by what an agent writes: hostile lines and ids, sessions of others, words that an editor acts on. */
import { ownFile } from '../engine/support';
import type { Json } from '../support/inbox';
import { attempt, reachedIf } from './attempt';
import { Canary } from './canary';
import { Scene, sceneFor } from './hostile-agent';

/** What an agent says, to be told from all else. */
const mark = 'EVIL WORDS';

const scene = sceneFor();
/** Another workspace of the same editor, with an agent in a container of its own. */
let victim: Scene;
const canary = new Canary(scene.cai);

beforeAll(async () => {
  victim = await scene.another();
  ownFile(`${victim.workspace}/secret`, 'SECRET OF THE VICTIM\n');
});

/** All messages that have come to the editor since the attack began, and for which this is so. */
async function seenBy(
  attack: () => Promise<unknown>,
  isEvil: (message: Json) => boolean,
): Promise<string | undefined> {
  const before = scene.editor.messages.length;
  await attack();
  const evil = scene.editor.messages.slice(before).filter(isEvil);
  return reachedIf(evil.length > 0, `the editor was told ${JSON.stringify(evil).slice(0, 1_000)}`);
}

/** Whether a message is about the session of the victim. */
const isOfVictim = ({ params }: Json): boolean =>
  (params as { sessionId?: string } | undefined)?.sessionId === victim.session;

/** Whether a message has the editor do something that it is never to do at the word of an agent. */
const isRun = ({ method, params }: Json): boolean =>
  typeof method === 'string' &&
  /^(?:terminal\/create|fs\/)/.test(method) &&
  JSON.stringify(params).includes(canary.path);

const textUpdate = { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: mark } };
const line = (message: Json): string => JSON.stringify({ jsonrpc: '2.0', ...message });

describe('an agent and the session of another agent', () => {
  attempt('an agent speaks in the session of another', async () => {
    const params = { sessionId: victim.session, update: textUpdate };
    return await seenBy(() => scene.take({ tell: 'session/update', params }), isOfVictim);
  });

  attempt('an agent asks for permission in the session of another', async () => {
    const params = { sessionId: victim.session, toolCall: { toolCallId: mark }, options: [{ optionId: 'a', name: 'a', kind: 'allow_once' }] }; // prettier-ignore
    return await seenBy(() => scene.take({ ask: 'session/request_permission', params }), isOfVictim);
  });

  attempt('an agent runs a command by the session of another', async () => {
    const params = { sessionId: victim.session, command: 'hostname' };
    return await seenBy(() => scene.take({ ask: 'terminal/create', params }), ({ method }) => method === 'terminal/create'); // prettier-ignore
  });

  attempt('an agent names two sessions in one message and speaks in that of another', async () => {
    const update = JSON.stringify(textUpdate);
    const lines = ['sessionId', 'session\\u0049d', '\\u0073essionId'].flatMap((key) => [
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${scene.session}","${key}":"${victim.session}","update":${update}}}`,
      `{"jsonrpc":"2.0","method":"session/update","params":{"${key}":"${victim.session}","sessionId":"${scene.session}","update":${update}}}`,
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"${scene.session}","update":${update}},"params":{"${key}":"${victim.session}","update":${update}}}`,
    ]);
    return await seenBy(() => scene.take(...lines.map((each) => ({ line: each }))), isOfVictim);
  });

  attempt('an agent answers what another was asked', async () => {
    const asked = victim.take({ sh: 'sleep 2; echo true' });
    const answers = ['result', 'error'].flatMap((kind) =>
      Array.from({ length: 64 }, (_, id) => ({
        line: line({
          id,
          [kind]: kind === 'result' ? { stopReason: 'refusal' } : { code: 1, message: mark },
        }),
      })),
    );
    // One of the answers may end its own turn before it has told what came of them.
    await scene.take(...answers).catch(() => undefined);
    const [outcome] = await asked;
    return reachedIf(
      outcome?.stdout !== 'true\n',
      `the victim’s turn was answered ${JSON.stringify(outcome)}`,
    );
  });

  attempt('an agent cancels what another has asked', async () => {
    const method = '_example/ask';
    let id: unknown;
    const isAsked = new Promise<void>((seen) => {
      victim.editor.serve(method, async () => {
        id = victim.editor.messages.findLast((message) => message.method === method)?.id;
        seen();
        await isDone;
        return {};
      });
    });
    let done = (): void => undefined;
    const isDone = new Promise<void>((end) => (done = end));
    const asking = victim.take({ ask: method });
    await isAsked;
    const guesses = [id, ...Array.from({ length: 64 }, (_, each) => each)];
    const reached = await seenBy(
      () => scene.take(...guesses.map((requestId) => ({ tell: '$/cancel_request', params: { requestId } }))),
      (message) => message.method === '$/cancel_request',
    );
    done();
    await asking;
    return reached;
  });
});

describe('an agent and what cai itself says', () => {
  attempt('an agent speaks, or asks for permission, with the mark of what cai itself says', async () => {
    const liar = await Scene.open({ claims: { ids: ['liar'] } });
    const update = JSON.stringify(textUpdate);
    const card = `"toolCall":{"toolCallId":"${mark}"},"options":[{"optionId":"a","name":"a","kind":"allow_once"}]`;
    const marks = ['containai', '\\u0063ontainai'].flatMap((key) => [
      `"_meta":{"${key}":true}`,
      `"_meta":{"a":1,"${key}":"${mark}"}`,
      `"\\u005fmeta":{"${key}":{"a":[]}}`,
      `"_meta":{"${key}":false,"${key}":true}`,
      `"_meta":{},"_meta":{"${key}":true}`,
    ]);
    const lines = marks.flatMap((each) => [
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"liar","update":${update},${each}}}`,
      // The second of two lines that differ in their text alone goes another way.
      `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"liar","update":${update.replace(mark, `${mark}!`)},${each}}}`,
      `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"liar",${each},${card}}}`,
    ]);
    await liar.take(...lines.map((each) => ({ line: each })));
    const said = liar.editor.messages.filter(({ params }) => JSON.stringify(params ?? null).includes(mark));
    await liar.close();
    if (said.length === 0) throw new Error('the editor has heard nothing of the agent');
    const marked = said.filter(({ params }) => (params as { _meta?: Json })._meta?.containai !== false);
    return reachedIf(marked.length > 0, JSON.stringify(marked));
  });

  attempt('an agent tells the clients of cai serve that a turn has ended', async () => {
    const methods = ['_containai/turn_ended', '_containai\\/turn_ended', '_containai/other'];
    const lines = methods.flatMap((method) => [
      `{"jsonrpc":"2.0","method":"${method}","params":{"sessionId":"${scene.session}"}}`,
      `{"jsonrpc":"2.0","id":2,"method":"${method}","params":{"sessionId":"${scene.session}"}}`,
      `{"jsonrpc":"2.0","method":"${method}","params":{}}`,
    ]);
    return await seenBy(
      () => scene.take(...lines.map((each) => ({ line: each }))),
      ({ method }) => String(method).startsWith('_containai/'),
    );
  });
});

describe('an agent and the lines that it writes', () => {
  const evilCreate = (): Json => ({
    sessionId: scene.session,
    command: 'sh',
    args: ['-c', canary.sh],
    path: canary.path,
    content: 'x',
  });

  attempt('an agent spells a method so that the editor runs its command', async () => {
    const params = JSON.stringify(evilCreate());
    const spellings = [
      'terminal\\/create',
      't\\u0065rminal/create',
      '\\u0074\\u0065\\u0072minal\\u002fcreate',
    ];
    const lines = [
      ...spellings.map(
        (method) => `{"jsonrpc":"2.0","id":"${method}","method":"${method}","params":${params}}`,
      ),
      `{"jsonrpc":"2.0","id":"a","method":"session/update","method":"terminal/create","params":${params}}`,
      `{"jsonrpc":"2.0","id":"b","method":"terminal/create","method":"session/update","params":${params}}`,
      `{"jsonrpc":"2.0","id":"c","\\u006dethod":"terminal/create","params":${params}}`,
      `{"jsonrpc":"2.0","id":"d","result":{},"method":"terminal/create","params":${params}}`,
    ];
    return await seenBy(() => scene.take(...lines.map((each) => ({ line: each }))), isRun);
  });

  attempt('an agent hides a request in a batch, behind another, or behind odd bytes', async () => {
    const create = line({ id: 'e', method: 'terminal/create', params: evilCreate() });
    const told = line({ method: 'session/update', params: { sessionId: scene.session, update: textUpdate } });
    const texts = [
      `[${create}]`,
      `[${told},${create}]`,
      `${told} ${create}`,
      `${told}\r${create}`,
      `${told}\u2028${create}`,
      `${told}\u0085${create}`,
      `\uFEFF${create}`,
      `\0${create}`,
      `${told}\0${create}`,
      `/**/${create}`,
      `\x1e${create}`,
    ];
    return await seenBy(() => scene.take(...texts.map((each) => ({ line: each }))), isRun);
  });

  attempt(
    'an agent ends the proxy, or another’s session, by lines that are too long or too deep',
    async () => {
      const deep = `{"jsonrpc":"2.0","method":"session/update","params":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
      const keys = Array.from({ length: 50_000 }, (_, index) => `"k${index}":0`).join(',');
      const wide = `{"jsonrpc":"2.0","method":"session/update","params":{${keys}}}`;
      const brutal = await scene.another();
      // The agent may be ended for it; the others must not be.
      await brutal.take({ line: deep }, { line: wide }).catch(() => undefined);
      const endless = 'head -c 40000000 /dev/zero | tr "\\0" x > /proc/$PPID/fd/1';
      await brutal.take({ sh: endless }).catch(() => undefined);
      const said = await victim.sh('echo alive');
      return reachedIf(said !== 'alive\n', 'the session of another is gone');
    },
  );

  attempt('an agent has the editor open an address that is no web page', async () => {
    const urls = ['file:///etc/passwd', 'javascript:alert(1)', 'vscode://evil', ' FILE:///x', 'data:text/html,x', 'ssh://evil', '\\\\evil\\share']; // prettier-ignore
    const asker = await Scene.open({ clientCapabilities: { elicitation: { form: {}, url: {} } } });
    const before = asker.editor.messages.length;
    await asker.take(
      ...urls.map((url, index) => ({ ask: 'elicitation/create', params: { mode: 'url', message: mark, elicitationId: `e${index}`, url } })), // prettier-ignore
    );
    const told = asker.editor.messages.slice(before).filter(({ method }) => method === 'elicitation/create');
    await asker.close();
    return reachedIf(told.length > 0, JSON.stringify(told));
  });
});

describe('an agent and the ids that it gives', () => {
  attempt('an agent that gives its session the id of another’s gets or takes its messages', async () => {
    const thief = await Scene.open({ claims: { ids: ['same', 'same', victim.session, '__proto__', 'constructor', '../../../etc', '\u001b[2J'] } }); // prettier-ignore
    const first = thief.session;
    const ids = [first];
    for (let more = 0; more < 6; more++) {
      await thief.newSession();
      ids.push(thief.session);
    }
    const odd = ids.filter((id) => !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id));
    const said = await thief.sh('echo alive');
    await thief.close();
    return reachedIf(odd.length > 0 || ids.includes(victim.session) || said !== 'alive\n', ids.join(', '));
  });

  attempt('two agents that give their sessions one id speak in each other’s', async () => {
    const one = await Scene.open({ claims: { ids: ['same', 'same'] } });
    const two = await one.another();
    const isMixed = one.session === two.session;
    const [left, right] = [await one.sh('echo one; pwd'), await two.sh('echo two; pwd')];
    await one.close();
    return reachedIf(isMixed || left === right, `${one.session} ${two.session}: ${left} ${right}`);
  });
});
