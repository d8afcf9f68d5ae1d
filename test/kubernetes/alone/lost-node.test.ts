/** What a user has when a node is lost: once the cluster has noticed, the next prompt goes on at another one. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { agentAnswers } from '../../agents/transcript';
import { AcpxSession, provideClients } from '../../engine/clients';
import { inNamespace, podsOf } from '../../engine/cluster';
import { Editor } from '../../engine/editor';
import { filesConfig } from '../../engine/engines';
import { modelConfig, provideImages, startModel } from '../../engine/model';
import { buildTimeoutMs } from '../../engine/place';
import { Cai, newWorkspace } from '../../engine/support';
import { hostileConfig } from '../../escape/hostile-agent';
import { patienceMs } from '../../support/patience';
import { timeout } from '../kubectl';
import { machine } from '../machine';

const agent = 'claude';
const endTurn = { result: { stopReason: 'end_turn' } };

test(
  'the node is gone, and the session goes on at the other one',
  async () => {
    await provideClients();
    await provideImages(agent);
    const cai = new Cai(modelConfig);
    const workspace = newWorkspace();
    await startModel(cai, workspace, agent);
    const session = new AcpxSession(cai, agent, workspace);
    await session.open();
    await session.prompt('one').succeeds();
    const [{ metadata, spec } = { metadata: { name: '' }, spec: { nodeName: '' } }] = podsOf(workspace);

    await machine('kill', `kubelet-${spec.nodeName}`);
    try {
      inNamespace('wait', '--for=condition=Ready=false', timeout(2 * patienceMs), `pod/${metadata.name}`);
      await startModel(cai, workspace, agent);
      await session.prompt('two').succeeds();
    } finally {
      await machine('revive', `kubelet-${spec.nodeName}`);
    }

    expect(agentAnswers(session.transcript(), 'session/prompt')).toMatchObject([endTurn, endTurn]);
    const nodes = podsOf(workspace).map((pod) => pod.spec.nodeName);
    expect(nodes).toHaveLength(1);
    expect(nodes).not.toContain(spec.nodeName);
    await session.close();
  },
  buildTimeoutMs,
);

test(
  'what a turn runs on a node that is cut off has ended before the next prompt runs at another one',
  async () => {
    await provideImages(agent);
    const workspace = newWorkspace();
    const editor = await Editor.open(new Cai(hostileConfig() + filesConfig), agent, { cwd: workspace });
    const session = await editor.newSession(workspace);
    const turnOf = (sh: string) => editor.prompt(session, JSON.stringify([{ sh }]));
    const written = join(workspace, 'written');
    // Also what has left the session and the terminal of the turn.
    const writes = 'until [ -e over ]; do date >>written; sleep 0.1; done';
    const turn = turnOf(`setsid sh -c '${writes}' </dev/null >/dev/null 2>&1 & ${writes}`);
    while (!existsSync(written)) await pause(20);
    const [{ metadata, spec } = { metadata: { name: '' }, spec: { nodeName: '' } }] = podsOf(workspace);

    await machine('network', spec.nodeName, 'off');
    let atGivenUp;
    try {
      const message = expect.stringMatching(/is lost \(Keepalive timeout\)/) as string;
      expect(await turn).toMatchObject({ error: { code: -32603, message } });
      inNamespace('wait', '--for=condition=Ready=false', timeout(2 * patienceMs), `pod/${metadata.name}`);
      atGivenUp = statSync(written).size;
      expect(await turnOf('true')).toMatchObject(endTurn);
    } finally {
      await machine('network', spec.nodeName, 'on');
    }

    expect(podsOf(workspace).map((pod) => pod.spec.nodeName)).not.toContain(spec.nodeName);
    expect(statSync(written).size).toBe(atGivenUp);
    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
  },
  buildTimeoutMs,
);
