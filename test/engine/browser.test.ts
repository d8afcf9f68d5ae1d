/** `cai image add browser`, which downloads some 100 MB: nightly only. */
import { imageTagOf } from '../../src/container/image/image-tag';
import { isNightly } from '../support/nightly';
import { isKubernetes } from './engines';
import { buildTimeoutMs } from './place';
import { Cai, docker, newWorkspace } from './support';

const agent = `test-browser-${process.pid}`;

/** Shows a page of a server in the container by each of the ways to find a browser. */
const script = `
  const { execFile } = require('node:child_process');
  const page = '<script>document.write("<b>" + (1 + 1) + "</b>")</script>';
  const { CHROME_BIN, PUPPETEER_EXECUTABLE_PATH } = process.env;
  const server = require('node:http').createServer((_, to) => to.setHeader('content-type', 'text/html').end(page));
  server.listen(8000, async () => {
    for (const program of [CHROME_BIN, PUPPETEER_EXECUTABLE_PATH, '/opt/google/chrome/chrome'])
      console.log(await new Promise((done) =>
        execFile(program, ['--headless', '--dump-dom', 'http://localhost:8000'], (failure, text) => done(failure?.message ?? text))));
    process.exit();
  });`;

afterAll(async () => {
  const tag = imageTagOf({ agent });
  const label = '{{index .Config.Labels "containai.environment"}}';
  const environment = await docker('inspect', '--format', label, tag).catch(() => '');
  for (const name of [tag, environment]) if (name !== '') await docker('rmi', '--force', name);
});

(isNightly && !isKubernetes ? test : test.skip)(
  'a browser is found by those who look for it, and shows a page of the container',
  async () => {
    const cai = new Cai(`[agents.${agent}]\ncommand = ["true"]\n`);
    await cai.start(['image', 'add', 'browser']).succeeds();
    const args = ['exec', '--agent', agent, '--workspace', newWorkspace(), '--', 'node', '-e', script];

    const { stdout } = await cai.start(args).succeeds(buildTimeoutMs);

    expect(stdout.toString().match(/<b>2<\/b>/g)).toHaveLength(3);
  },
  buildTimeoutMs,
);
