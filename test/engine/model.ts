import { chownSync, copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fetchImage } from './cluster';
import { isKubernetes } from './engines';
import { user, type Cai } from './support';
import { onceInRun, Place } from './place';
import type { Running } from './running';

const program = 'fake-model.mjs';
const source = resolve(__dirname, '../../fixtures/fake-model', program);

/** Where the model listens: on the loopback address of every container that one was started in. */
export const modelPort = 47_110;
const url = `http://127.0.0.1:${modelPort}`;

/** What the editor's environment has, for the agents to find the model. */
export const modelEnv = {
  ANTHROPIC_API_KEY: 'fake-key',
  ANTHROPIC_BASE_URL: url,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  FAKE_KEY: 'fake-key',
  GEMINI_API_KEY: 'fake-key',
  GOOGLE_GEMINI_BASE_URL: url,
} as const;

/** The user's configuration that lets it in, TOML. */
export const modelConfig = `[env]\nimport = ${JSON.stringify(Object.keys(modelEnv))}\n`;

/** Gemini's usage statistics go out without end when nothing answers. */
const settings = { privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } };
const codexConfig = `model = "fake-model"
model_provider = "fake"
[model_providers.fake]
name = "Fake"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"
`;
const writeSettings = `echo '${JSON.stringify(settings)}' > ~/.gemini/settings.json && echo '${codexConfig}' > ~/.codex/config.toml`;

/** Makes sure that the images of agents are there: looked at once in a run. */
export async function provideImages(...agents: readonly string[]): Promise<void> {
  for (const agent of agents)
    await onceInRun(`image-${agent}`, async () => {
      await new Place(undefined, undefined, ['--agent', agent]).opened();
      if (isKubernetes) fetchImage(agent);
    });
}

/** Starts the fake model in the container of a workspace and an agent; resolves when it listens. */
export async function startModel(cai: Cai, workspace: string, agent: string): Promise<Running> {
  const copy = join(workspace, program);
  copyFileSync(source, copy);
  chownSync(copy, user.uid, user.gid);
  const script = `${writeSettings} && exec node "$1"`;
  const place = ['--workspace', workspace, '--agent', agent];
  const port = ['-e', `FAKE_MODEL_PORT=${modelPort}`];
  const model = cai.start(['exec', ...place, ...port, '--', 'sh', '-c', script, 'sh', program], {
    cwd: workspace,
  });
  await model.says(`{"port":${modelPort}}`);
  return model;
}
