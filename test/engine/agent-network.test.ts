/** That agents use the proxy of their container. Claude, Codex, Copilot and Gemini show it in their turns elsewhere. */
import { provideImages } from './model';
import { buildTimeoutMs, Place } from './place';
import { Cai, newWorkspace } from './support';

beforeAll(() => provideImages('opencode', 'qwen'), 2 * buildTimeoutMs);

/** What an agent does without an account, and a host that it then asks for. */
test.each([
  ['opencode', 'opencode models', 'models.opencode.ai:443'],
  [
    'qwen',
    'OPENAI_API_KEY=x OPENAI_MODEL=x OPENAI_BASE_URL=https://model.example/v1 qwen -p hi',
    'model.example:443',
  ],
])('%s asks the proxy', async (agent, command, host) => {
  const place = new Place(new Cai('egress = "listed"\ndeny = ["*"]\n'), newWorkspace(), ['--agent', agent]);

  await place.run(['sh', '-c', `timeout -k 1 60 env ${command}`]);

  const { stdout } = await place.cai.run(['network', 'log', '--json', '-w', place.workspace]);
  expect(stdout.toString()).toContain(host);
});
