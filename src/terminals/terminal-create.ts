/** `terminal/create`: the editor gets neither command nor arguments, environment or folder from the agent. */
import { posix } from 'node:path';
import { isPassable, isVariableName } from '../agent/argument-text';
import type { hostCommand, TerminalOrder } from '../agent/editor-token';
import { CaiError } from '../errors';
import { replacing, type Edit } from '../rpc/splice';
import { bodyOf, fieldOf, type Message } from '../rpc/message';
import type { JsonObject } from '../child/child-data';

/** The command that an agent asks for. */
export type TerminalWish = Pick<TerminalOrder, 'argv' | 'env' | 'shell'> & {
  /** Its folder as the agent names it; undefined: that of its session. */
  readonly cwd: string | undefined;
};

/**
 * Reads the params. Fails with `INVALID_PARAMS`, which names no value, for what cannot be run. Keys that other readers
 * could take for ours were refused with the line. Source: ACP v1, terminals; without arguments a command is a line for
 * a shell.
 */
export function wishOf(message: Message): TerminalWish {
  const params = (bodyOf(message) ?? {}) as JsonObject;
  const { command, outputByteLimit } = params;
  const args = params.args ?? [];
  const cwd = params.cwd ?? undefined;
  if (!isPassable(command) || command === '') throw invalid('"command" must be a string that is not empty');
  if (!Array.isArray(args) || !args.every(isPassable)) throw invalid('"args" must be an array of strings');
  if (!(cwd === undefined || (isPassable(cwd) && posix.isAbsolute(cwd))))
    throw invalid('"cwd" must be an absolute path');
  if (!Number.isInteger(outputByteLimit ?? 0) || Number(outputByteLimit) < 0)
    throw invalid('"outputByteLimit" must be a number of bytes');
  return { argv: [command, ...args], env: variablesOf(params.env ?? []), cwd, shell: args.length === 0 };
}

/** Edits that have the editor run `host` in `cwd`, a folder of its machine. All other params stay. */
export function editsOfCreate(message: Message, host: ReturnType<typeof hostCommand>, cwd: string): Edit[] {
  const env = fieldOf(message, 'terminalEnv');
  const edits = env === undefined ? [] : [replacing(env, '[]')];
  let text = JSON.stringify(host.command);
  const give = (kind: string, key: string, value: unknown): void => {
    const field = fieldOf(message, kind);
    if (field === undefined) text += `,"${key}":${JSON.stringify(value)}`;
    else edits.push(replacing(field, JSON.stringify(value)));
  };
  give('terminalArgs', 'args', host.args);
  give('terminalCwd', 'cwd', cwd);
  return [...edits, replacing(fieldOf(message, 'terminalCommand')!, text)];
}

function variablesOf(env: unknown): [string, string][] {
  const pairs = (Array.isArray(env) ? env : [undefined]).map((variable: unknown) => {
    const { name, value } = Object(variable) as JsonObject;
    return isVariableName(name) && isPassable(value) ? ([name, value] satisfies [string, string]) : undefined;
  });
  if (pairs.every((pair) => pair !== undefined)) return pairs;
  throw invalid('"env" must be an array of names and values');
}

function invalid(what: string): CaiError {
  return new CaiError('INVALID_PARAMS', `terminal/create: ${what}`);
}
