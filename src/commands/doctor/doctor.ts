/** `cai doctor`: whether all that a command needs is there, and what to do where it is not. Changes nothing. */
import type { Host } from '../../system/host';
import { printableCharacters } from '../../system/quoted';
import { common, declare } from '../support/command';
import { Checks, type Check } from './checks';
import { checkContainerOf, containerChecks } from './container';
import { checkEngine, checkImage, checkLimits } from './engine';
import { checkConfiguration, checkKey, checkState, checkWorkspace, editorPath, nodeVersion } from './machine';

interface Options {
  readonly workspace?: string;
  readonly agent?: string;
  readonly context?: string;
  readonly json?: true;
}

/** Writes what it finds to stdout; resolves with 0 if no check failed, else with 1. */
export const run = declare<Options>({
  name: 'doctor',
  description: `Looks at everything that a command needs, from Node to the agent in its container, and says what to do where
something is missing. It changes nothing. Exit status 1 if a check failed.`,
  options: [common.workspace, common.agent, common.context, common.json],
  action: report,
});

async function report(options: Options, host: Host): Promise<number> {
  const { stdout } = process;
  const checks = new Checks((check) => {
    if (options.json !== true) stdout.write(lineOf(check));
  });
  await examine(checks, options, host);
  const count = (wanted: Check['status']) => checks.done.filter(({ status }) => status === wanted).length;
  const ok = count('fail') === 0;
  if (options.json === true) stdout.write(`${JSON.stringify({ ok, checks: checks.done }, undefined, 2)}\n`);
  else stdout.write(`\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`);
  return ok ? 0 : 1;
}

async function examine(checks: Checks, options: Options, host: Host): Promise<void> {
  await checks.check('node', nodeVersion);
  const place = await checkWorkspace(checks, options.workspace, host);
  const hasState = await checkState(checks, host);
  const key = await checkKey(checks, hasState, host);
  const configured = await checkConfiguration(checks, place?.root, options.agent, key?.publicKey ?? '', host);
  await checks.check('editor', () => editorPath(configured?.agent.name));
  const found = await checkEngine(checks, options.context, configured?.config.engine.context, host);
  if (configured === undefined || found === undefined) {
    const lacking = found === undefined ? 'the engine' : 'the configuration';
    await checks.skip(['user', 'memory', 'image', ...containerChecks], `this needs ${lacking}`);
    return;
  }
  const { engine, about } = found;
  await checkLimits(checks, about, configured);
  const image = await checkImage(checks, engine, configured, host);
  if (place === undefined) await checks.skip(containerChecks, 'this needs the workspace');
  else if (!hasState && key === undefined) await checks.skip(containerChecks, 'this needs the state folder');
  else await checkContainerOf(checks, { ...configured, engine, image, key, host });
}

const nameWidth = 14;

/** What is said in several lines, or to be done, stands below. Names of folders can be a stranger's. */
function lineOf({ name, status, detail, remedy }: Check): string {
  const indent = ' '.repeat(6 + nameWidth);
  const lines = [...detail.split('\n'), ...(remedy === undefined ? [] : [`-> ${remedy}`])];
  return `${status.padEnd(6)}${name.padEnd(nameWidth)}${lines.map(printableCharacters).join(`\n${indent}`)}\n`;
}
