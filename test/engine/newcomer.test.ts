/** What the README says, on a machine with Node and an engine, and on one without Node: from an empty home to a turn. */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { version } from '../../package.json';
import { objectInFile } from '../../src/commands/setup/settings-file';
import type { AgentEntry } from '../../src/commands/setup/editors';
import { agentAnswers } from '../agents/transcript';
import { acpx, provideClients } from './clients';
import { modelConfig, provideImages, startModel } from './model';
import { buildTimeoutMs, Place } from './place';
import { Cai, folder, newWorkspace, ownFolder } from './support';

const readme = readFileSync('README.md', 'utf8');
const scripts = resolve(__dirname, '../../.config/release');
const release = join(folder, 'release');
const single = join(release, `cai-linux-${process.arch}`);

beforeAll(async () => {
  await Promise.all([pack(), provideImages('claude').then(provideClients)]);
}, buildTimeoutMs);

/** As `npm run pack:all`, which would take a minute to make a Debian package, too. */
async function pack(): Promise<void> {
  const run = promisify(execFile);
  await run(process.execPath, [join(scripts, 'pack.mjs'), release]);
  await run('tar', ['-xzf', join(release, `containai-${version}.tgz`), '-C', release]);
  const args = [join(release, 'package'), release, [`linux-${process.arch}`]].map((each) =>
    JSON.stringify(each),
  );
  const make = `import { makeSingles } from ${JSON.stringify(join(scripts, 'single.mjs'))}; await makeSingles(${args.join()})`;
  await run(process.execPath, ['--input-type=module', '--eval', make]);
  await run('chmod', ['-R', 'a+rX', release]);
}

/** Has Zed set up, and then acpx, as the settings say, do a turn of Claude, whose model is a fake. */
async function hasTurn(cai: Cai): Promise<void> {
  const [, setup] = /^cai (setup zed) /m.exec(readme)!;
  await cai.start(setup!.split(' ')).succeeds();
  const settings = join(cai.env.XDG_CONFIG_HOME!, 'zed/settings.json');
  const [entry] = Object.values(objectInFile(settings, ['agent_servers'])) as [AgentEntry];
  const { command, args, env } = entry;
  expect(args.slice(-2)).toEqual(['--acp', 'claude']);
  cai.command = [command, ...args.slice(0, -2)];
  // As an editor from the desktop, which has only what the settings give it.
  delete cai.env.DOCKER_HOST;
  Object.assign(cai.env, env);
  const workspace = newWorkspace();
  await startModel(cai, workspace, 'claude');

  const { client, transcript } = acpx(cai, 'claude', workspace, 'exec', '[[shell hostname > where]]');
  await client.succeeds();

  const place = new Place(cai, workspace, ['--agent', 'claude']);
  expect(agentAnswers(transcript(), 'session/prompt')).toMatchObject([
    { result: { stopReason: 'end_turn' } },
  ]);
  expect(readFileSync(join(workspace, 'where'), 'utf8').trim()).toBe(
    await place.inspect('{{.Config.Hostname}}'),
  );
}

test('npm installs it', async () => {
  const [, install] = /`(npm install -g \.\/containai-\S+\.tgz)`/.exec(readme)!;
  const cai = new Cai(modelConfig);
  const prefix = join(cai.home, '.local');
  const env = { npm_config_prefix: prefix, npm_config_offline: 'true', npm_config_update_notifier: 'false' };
  await cai.startProgram('sh', ['-c', install!], { cwd: release, env }).succeeds();
  cai.command = [join(prefix, 'bin/cai')];

  await hasTurn(cai);
});

test('the single file needs no Node', async () => {
  const cai = new Cai(modelConfig);
  const programs = join(cai.home, 'programs');
  ownFolder(programs);
  const git = execFileSync('which', ['git'], { encoding: 'utf8' }).trim();
  symlinkSync(git, join(programs, 'git'));
  cai.env.PATH = programs;
  cai.command = [single];

  await hasTurn(cai);
});
