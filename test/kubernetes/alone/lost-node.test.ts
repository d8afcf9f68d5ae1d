/** What a user has when a node is lost: once the cluster has noticed, the next prompt goes on at another one. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
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
  'the node is cut off in a turn, which fails; all that it ran has ended before the session goes on at the other node',
  async () => {
    await provideClients();
    await provideImages(agent);
    const cai = new Cai(modelConfig);
    const workspace = newWorkspace();
    await startModel(cai, workspace, agent);
    const session = new AcpxSession(cai, agent, workspace);
    await session.open();
    await session.prompt('one').succeeds();
    const written = join(workspace, 'written');
    // Also what has left the session and the terminal of the turn.
    const writes = 'until test -e over; do date >>written; sleep 0.1; done';
    const turn = session.prompt(`[[shell setsid sh -c '${writes}' </dev/null >/dev/null 2>&1 & ${writes}]]`);
    while (!existsSync(written)) await pause(20);
    const [{ metadata, spec } = { metadata: { name: '' }, spec: { nodeName: '' } }] = podsOf(workspace);

    await machine('network', spec.nodeName, 'off');
    let atGivenUp;
    try {
      await turn.ends();
      inNamespace('wait', '--for=condition=Ready=false', timeout(2 * patienceMs), `pod/${metadata.name}`);
      atGivenUp = statSync(written).size;
      await startModel(cai, workspace, agent);
      await session.prompt('two').succeeds();
    } finally {
      await machine('network', spec.nodeName, 'on');
    }

    const message = expect.stringMatching(/is lost \(Keepalive timeout\)/) as string;
    const lost = { error: { code: -32603, message } };
    expect(agentAnswers(session.transcript(), 'session/prompt')).toMatchObject([endTurn, lost, endTurn]);
    expect(podsOf(workspace).map((pod) => pod.spec.nodeName)).not.toContain(spec.nodeName);
    expect(statSync(written).size).toBe(atGivenUp);
    await session.close();
  },
  buildTimeoutMs,
);
