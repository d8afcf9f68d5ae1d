/** `cai doctor`: whether all that a command needs is there, and what to do where it is not. Changes nothing without asking. */
import type { Host } from '../../system/host';
import { printableCharacters } from '../../system/quoted';
import { common, declare } from '../support/command';
import { confirm, paintFor, plain, writeJson, type Paint } from '../support/terminal';
import { runChecks, type Check, type Facts, type Look } from './checks';
import { quota, rights, wall } from './cluster';
import { agent, asMade, container, data, ssh } from './container';
import { context, disk, engine, image, labels, memory, shares, user } from './engine';
import {
  configuration,
  credentials,
  editor,
  keys,
  network,
  node,
  protection,
  stateFolder,
  workspace,
} from './machine';
import { platform } from './platform';
import { offerMoves, signIns } from './sign-ins';

/** In their order: a check needs only what those before it have found out. */
const looks = {
  node,
  workspace,
  'state folder': stateFolder,
  keys,
  configuration,
  protection,
  network,
  credentials,
  editor,
  context,
  engine,
  platform,
  rights,
  quota,
  shares,
  labels,
  user,
  memory,
  disk,
  image,
  wall,
  container,
  'as made': asMade,
  ssh,
  agent,
  data,
  'sign-ins': signIns,
} satisfies Readonly<Record<string, Look>>;

/** Writes what it finds to stdout; resolves with 0 if no check failed, else with 1. */
export const run = declare<Facts['wanted'] & { readonly json?: true }>({
  name: 'doctor',
  description: `Checks everything that a command needs, from Node to the agent in its container, and says how to fix what is
missing. It changes nothing without asking. The exit status is 1 if a check failed, else 0.`,
  options: [common.workspace, common.agent, common.context, common.json],
  footer: `
JSON: ok (no check failed), checks: each with name, status ("ok", "warn", "fail", or "skip": something else is needed
first), detail and perhaps remedy.`,
  action: ({ json, ...wanted }, host) => report(wanted, json === true, host),
});

async function report(wanted: Facts['wanted'], isJson: boolean, host: Host): Promise<number> {
  const { stdout } = process;
  const facts: Facts = { host, wanted };
  const paint = paintFor(host);
  const checks = await runChecks(Object.entries(looks), facts, (check) => {
    if (!isJson) stdout.write(lineOf(check, paint));
  });
  const count = (status: Check['status']) => checks.filter((check) => check.status === status).length;
  const ok = count('fail') === 0;
  if (isJson) writeJson({ ok, checks });
  else stdout.write(`\n${count('ok')} ok, ${count('warn')} to look at, ${count('fail')} failed\n`);
  if (!isJson && process.stdin.isTTY && process.stderr.isTTY)
    await offerMoves(facts, (question) => confirm(question, 'nobody can be asked'));
  return ok ? 0 : 1;
}

const nameWidth = 14;
const colours = { ok: 'good', warn: 'warn', fail: 'bad', skip: undefined } as const;

/** What is said in several lines, or to be done, stands below. Names of folders can be a stranger's. */
export function lineOf({ name, status, detail, remedy }: Check, paint: Paint = plain): string {
  const indent = ' '.repeat(6 + nameWidth);
  const lines = [...detail.split('\n'), ...(remedy === undefined ? [] : [`-> ${remedy}`])];
  return `${paint(status.padEnd(6), colours[status])}${name.padEnd(nameWidth)}${lines.map(printableCharacters).join(`\n${indent}`)}\n`;
}
