import { readdirSync, readFileSync } from 'node:fs';
import { Editor } from './editor';
import { containerOf, processesIn, untilOnly, untilRuns } from './inside';
import type { InnerProcess } from './inside';
import { modelConfig, modelEnv, startModel } from './model';
import { Cai, docker, newWorkspace } from './support';

let cai: Cai;
let workspace: string;
let editor: Editor;
let session: string;
let container: string;
let before: InnerProcess[];
let answer: Promise<any>;

beforeEach(async () => {
  cai = new Cai(modelConfig);
  workspace = newWorkspace();
  await startModel(cai, workspace, 'claude');
  container = await containerOf(workspace, 'claude');
  before = await processesIn(container);
  editor = await Editor.open(cai, 'claude', { cwd: workspace, env: modelEnv });
  session = await editor.newSession(workspace);
  answer = editor.prompt(session, '[[shell (setsid setsid sleep 600 &); setsid sleep 601 & sleep 602]]');
  answer.catch(() => undefined);
  for (const s of [600, 601, 602]) await untilRuns(container, `sleep ${s}`);
});

test('proxy', async () => {
  editor.proxy.child.kill('SIGKILL');
  console.log(await untilOnly(container, before, 10_000));
  console.log(await docker('ps', '--filter', 'name=' + container));
});

test('exec', async () => {
  const [pid] = childrenOf(editor.proxy.pid);
  const t = performance.now();
  process.kill(pid!, 'SIGKILL');
  const gone = untilOnly(container, before, 10_000);
  console.log(await answer, performance.now() - t);
  console.log(await gone);
  console.log(JSON.stringify(await editor.prompt(session, 'again')));
  console.log(JSON.stringify(await editor.request('session/load', { sessionId: session, cwd: workspace, mcpServers: [] })));
  console.log(JSON.stringify(await editor.prompt(session, 'again')));
  console.log(editor.messages.filter(m => 'error' in m));
});

test('eof', async () => {
  const t = performance.now();
  editor.proxy.child.stdin.end();
  console.log(await untilOnly(container, before, 10_000));
  console.log(await editor.proxy.ends(), performance.now() - t);
});

test('docker kill', async () => {
  const t = performance.now();
  await docker('kill', container);
  console.log(await answer, performance.now() - t);
  const s2 = await editor.newSession(workspace);
  console.log(s2);
});

function childrenOf(pid: number): number[] {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name)).filter((name) => { try { return new RegExp(`^PPid:\\s+${pid}$`, 'm').test(readFileSync(`/proc/${name}/status`, 'utf8')); } catch { return false; } }).map(Number);
}
