import { execFileSync } from 'node:child_process';
import { Editor } from './editor';
import { Cai, newWorkspace, ownFile } from './support';
import type { RunOptions } from './support';
import { docker } from './support';

let cai: Cai;
let workspace: string;
beforeEach(() => {
  cai = new Cai();
  workspace = newWorkspace();
});

async function failure(agent: string, options: RunOptions = {}): Promise<any> {
  const t0 = performance.now();
  const editor = Editor.start(cai, agent, { cwd: workspace, ...options });
  const initialize = await editor.initialize();
  const t1 = performance.now();
  const answer = await editor.request('session/new', { cwd: workspace, mcpServers: [] });
  const t2 = performance.now();
  console.log(Math.round(t1 - t0), Math.round(t2 - t1), JSON.stringify(initialize).slice(0, 200), JSON.stringify(answer), editor.proxy.stderr);
  return answer;
}

test('engine', async () => {
  await failure('claude', { env: { DOCKER_HOST: `unix://${workspace}/no.sock` } });
});
test('agent not in image', async () => {
  cai.configure('[agents.claude]\ncommand = ["no-such-agent"]\n');
  await failure('claude');
});
test('image missing', async () => {
  cai.configure('[agents.absent]\ncommand = ["absent"]\n[image]\nauto_build = false\n');
  await failure('absent');
});
test('base missing', async () => {
  cai.configure('[agents.absent]\ncommand = ["absent"]\n[image]\nbase = "localhost:1/no-such-base:1"\n');
  await failure('absent');
  cai.configure('[agents.absent]\ncommand = ["absent"]\n[image]\nbase = "no-such-base:1"\n');
  await failure('absent');
});
test('build fails', async () => {
  execFileSync('sh', ['-c', 'tar c -T /dev/null | docker import - cai-test-empty']);
  cai.configure('[agents.absent]\ncommand = ["absent"]\n[image]\nbase = "cai-test-empty:latest"\n');
  await failure('absent');
  await docker('rmi', 'cai-test-empty');
});
test('oom', async () => {
  cai.configure('[agents.claude]\ncommand = ["node", "mock-acp-server", "--acp"]\n[container]\nmemory="128MiB"\n');
  ownFile(`${workspace}/mock-acp-server`, require('fs').readFileSync(__dirname + '/../../fixtures/mock-acp-server'));
  const editor = await Editor.open(cai, 'claude', { cwd: workspace });
  const s = await editor.newSession(workspace);
  console.log(JSON.stringify(await editor.prompt(s, 'hoard')), editor.proxy.stderr);
  console.log(await docker('ps', '-a', '--filter', 'label=containai.workspace=' + workspace));
  console.log(await docker('inspect', '--format', '{{json .State}}', (await docker('ps', '-aq', '--filter', 'label=containai.workspace=' + workspace))));
  const s2 = await editor.newSession(workspace);
  console.log(JSON.stringify(await editor.prompt(s2, 'say hello')), editor.said(s2));
});
