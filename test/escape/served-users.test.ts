/** Attacks of somebody who may use some folders by `cai serve`, on what is the owner's. */
import { join } from 'node:path';
import { decisionsOf } from '../../src/network/egress/decisions';
import { Editor } from '../engine/editor';
import { provideImages } from '../engine/model';
import { buildTimeoutMs } from '../engine/place';
import { Cai, folder, newWorkspace, ownFile, ownFolder } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { agent, hostileConfig, Scene } from './hostile-agent';

/** How many containers may run in the folders of a user, and how many sessions one opens. */
const [most, wanted] = [2, 5];
/** Where ann may work. */
const hers = join(folder, 'ann');

let cai: Cai;
let ann: Editor;

beforeAll(async () => {
  await provideImages(agent);
  ownFolder(hers);
  const users = `[[serve.users]]\nname = "ann"\nagents = ["${agent}"]\nworkspaces = [${JSON.stringify(hers)}]\n`;
  const settings = `[agent]\ndata = "workspace"\n[serve]\ncontainers = ${most}\n`;
  cai = new Cai(`${hostileConfig()}${settings}${users}`);
  const server = cai.start(['serve', '--agent', agent, '--listen', '127.0.0.1:0']);
  await server.complains('cai: serving');
  const { stdout } = await cai.run(['serve', 'token', 'add', 'ann']);
  const tokenFile = join(cai.home, 'token');
  ownFile(tokenFile, stdout);
  const url = server.stdout.toString().split('\n', 1)[0]!;
  ann = await Editor.connect(cai, url, ['--token-file', tokenFile]);
}, buildTimeoutMs);

attempt(
  'somebody who may use some folders allows a host there for good, also for the owner of the server',
  async () => {
    const workspace = newWorkspace('ann/asks');
    const offered: string[] = [];
    ann.serve('session/request_permission', ({ options }) => {
      offered.push(...(options as { optionId: string }[]).map(({ optionId }) => optionId));
      return { outcome: { outcome: 'selected', optionId: 'workspace' } };
    });
    const scene = Scene.of({ cai, workspace });
    scene.editor = ann;
    await scene.newSession();
    await scene.tries('curl -sS --max-time 5 https://collect.example/');
    if (offered.length === 0) throw new Error('nothing was asked');
    const state = join(cai.env.XDG_STATE_HOME!, 'containai');
    const { allow } = decisionsOf(state, workspace);
    return reachedIf(allow.length > 0 || offered.includes('workspace'), [...allow, ...offered].join());
  },
);

attempt('somebody who may use some folders has any number of containers run there', async () => {
  const folders = Array.from({ length: wanted }, (_, n) => newWorkspace(`ann/work-${n}`));
  const opened = await Promise.all(folders.map((cwd) => ann.request('session/new', { cwd, mcpServers: [] })));
  const { stdout } = await cai.run(['ps', '--json']);
  const running = (JSON.parse(stdout.toString()) as { workspace: string | null }[]).map(
    ({ workspace }) => workspace,
  );
  const count = running.filter((root) => root?.startsWith(`${hers}/`) === true).length;
  if (count < most) throw new Error(`only ${count} run: ${JSON.stringify(opened)}`);
  const refusals = opened.flatMap(({ error }) => (error === undefined ? [] : [JSON.stringify(error)]));
  const isTold = refusals.every((refusal) => refusal.includes('serve.containers'));
  return reachedIf(count > most || !isTold, `${count} containers, and told: ${refusals.join()}`);
});
