/** What a user has when a node is lost: once the cluster has noticed, the next prompt goes on at another one. */
import { agentAnswers } from '../../agents/transcript';
import { AcpxSession, provideClients } from '../../engine/clients';
import { inNamespace, podsOf } from '../../engine/cluster';
import { modelConfig, provideImages, startModel } from '../../engine/model';
import { buildTimeoutMs } from '../../engine/place';
import { Cai, newWorkspace } from '../../engine/support';
import { patienceMs } from '../../support/patience';
import { timeout } from '../kubectl';
import { machine } from '../machine';

const agent = 'claude';
const endTurn = { result: { stopReason: 'end_turn' } };

test(
  'the node is gone, and the session goes on at the other one',
  async () => {
    provideClients();
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
