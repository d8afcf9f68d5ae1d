/** Tool calls of Cursor as ACP has them: title, kind, places, differences, exit codes and durations. */
import { posix } from 'node:path';
import type { ToolCallContent, ToolCallLocation, ToolKind } from '@agentclientprotocol/sdk';
import { beginning, firstNumber, firstText, jsonIn, listOf, shapeOf, type Shape } from './shapes';

export interface ToolReport {
  /** Cursor's id of the call, which may hold a line end; undefined for a call without an id. */
  readonly id: string | undefined;
  /** The tool, such as `shell`; `tool` where it has no name. */
  readonly name: string;
  readonly args: Shape;
  /** What came of it; undefined while it runs. */
  readonly result: unknown;
  readonly isOver: boolean;
  /** Whether it ended as no call should. */
  readonly isFailure: boolean;
  /** When Cursor wrote the report, in milliseconds since 1970; undefined if it does not say. */
  readonly atMs: number | undefined;
  /** When the call began and ended by Cursor's own clock, as far as it says. */
  readonly startedAtMs: number | undefined;
  readonly completedAtMs: number | undefined;
  /** How long the call took by Cursor's own clock, in milliseconds. */
  readonly durationMs: number | undefined;
}

/** What a call is, for whoever sees it begin. */
export interface ToolFace {
  readonly title: string;
  readonly kind: ToolKind;
  /** The files that it is about, absolute. */
  readonly locations: ToolCallLocation[];
}

export interface ToolOutcome {
  /** A command that exits with another status than 0 has failed, too. */
  readonly status: 'completed' | 'failed';
  readonly content: ToolCallContent[];
  readonly facts: Shape;
}

/** Longest title, in characters. */
const maxTitle = 200;
/** How many files a call is about at most, of those that it has found. */
const maxPlaces = 100;

const kinds: readonly (readonly [RegExp, ToolKind])[] = [
  [/^(shell|bash|terminal|runterminal)/i, 'execute'],
  [/^(edit|write|applypatch|searchreplace|notebook|multiedit)/i, 'edit'],
  [/^(delete|remove)/i, 'delete'],
  [/^(move|rename)/i, 'move'],
  [/^(webfetch|websearch|fetch|exa)/i, 'fetch'],
  [/^(grep|glob|semsearch|search|codebase|filesearch|ripgrep)/i, 'search'],
  [/^(read|ls|list)/i, 'read'],
  [/^(updatetodos|todo|createplan|think)/i, 'think'],
  [/^switchmode/i, 'switch_mode'],
];

/** Words before what a tool is about; the title of others is their name, and a command's is the command. */
const verbs: Readonly<Partial<Record<ToolKind, string>>> = {
  read: 'Read',
  edit: 'Edit',
  delete: 'Delete',
  move: 'Move',
  search: 'Search for',
  fetch: 'Fetch',
};

/**
 * Reads a line of type `tool_call`. The tool is the key that ends in `ToolCall`, beside which there are others; older
 * versions have `function` with a name. Sources: Cursor's page on its output format; docs/stream-json-events.md of
 * reifying/cursor-hack.
 */
export function toolReportOf(line: Shape): ToolReport {
  const calls = shapeOf(line.tool_call);
  const keys = Object.keys(calls);
  const key =
    keys.find((each) => /.ToolCall$/.test(each)) ??
    keys.find((each) => Object.keys(shapeOf(calls[each])).length > 0);
  const call = shapeOf(key === undefined ? undefined : calls[key]);
  const startedAtMs = firstNumber(calls.startedAtMs);
  const completedAtMs = firstNumber(calls.completedAtMs);
  const { result, args = call.arguments, ...others } = call;
  const end = firstText(line.subtype) ?? '';
  const isFailure = /^(failed|error|rejected|cancell?ed)$/.test(end);
  return {
    id: firstText(line.call_id, calls.toolCallId, shapeOf(call.args).toolCallId),
    name: firstText(call.name) ?? key?.replace(/ToolCall$/, '') ?? 'tool',
    // Of a form that nobody knows, all is kept.
    args: args === undefined ? (key === undefined ? calls : others) : argsOf(args),
    result,
    isOver: isFailure || /^(completed|finished)$/.test(end),
    isFailure,
    atMs: firstNumber(line.timestamp_ms),
    ...{ startedAtMs, completedAtMs },
    durationMs:
      firstNumber(shapeOf(shapeOf(result).success).executionTime) ??
      (startedAtMs !== undefined && completedAtMs !== undefined ? completedAtMs - startedAtMs : undefined),
  };
}

function kindOf(name: string): ToolKind {
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? 'other';
}

/** How a call looks; `cwd`: the folder of the session, which relative paths are below. */
export function faceOf({ name, args, result }: ToolReport, cwd: string): ToolFace {
  const kind = kindOf(name);
  const path = pathOf(args);
  const subject = firstText(args.pattern, args.globPattern, args.query, args.searchTerm, args.url, path);
  const verb = verbs[kind];
  const named = verb === undefined || subject === undefined ? undefined : `${verb} ${subject}`;
  const title =
    (kind === 'execute' ? firstText(args.command) : named) ?? firstText(args.description, args.toolName);
  const line = firstNumber(args.offset, args.startLine);
  const hasLine = line !== undefined && Number.isSafeInteger(line) && line > 0;
  const places = [...new Set(pathsIn(result).map((each) => posix.resolve(cwd, each)))];
  const own = path === undefined ? [] : [{ path: posix.resolve(cwd, path), ...(hasLine && { line }) }];
  const found = places.filter((each) => each !== own[0]?.path).map((each) => ({ path: each }));
  return {
    title: beginning((title ?? name).replace(/\s+/g, ' '), maxTitle),
    kind,
    locations: [...own, ...found.slice(0, maxPlaces)],
  };
}

/** The files that a result names: its own, or those that were found. */
function pathsIn(result: unknown): string[] {
  const { path, files, matches } = detailsOf(shapeOf(result));
  const found = [...listOf(files), ...listOf(matches)].map((each) => {
    const { path, file, filePath } = shapeOf(each);
    return firstText(each, path, file, filePath);
  });
  return [firstText(path), ...found].filter((each) => each !== undefined);
}

export function outcomeOf(report: ToolReport, cwd: string): ToolOutcome {
  const result = shapeOf(report.result);
  const exitCode = firstNumber(detailsOf(result).exitCode);
  const isFine =
    !report.isFailure &&
    (report.result === undefined || 'success' in result || Object.keys(result).length === 0);
  return {
    status: isFine && (exitCode ?? 0) === 0 ? 'completed' : 'failed',
    content: contentOf(report, detailsOf(result), isFine, cwd),
    facts: {
      ...(exitCode !== undefined && { exitCode }),
      ...(result.isBackground === true && { isBackground: true }),
    },
  };
}

/** The one object that tells how it went: `success`, `failure`, `error`, `rejected`. */
function detailsOf(result: Shape): Shape {
  return shapeOf(
    result.success ?? Object.values(result).find((each) => typeof each === 'object' && each !== null),
  );
}

function contentOf(
  { name, args, result }: ToolReport,
  details: Shape,
  isFine: boolean,
  cwd: string,
): ToolCallContent[] {
  const path = firstText(details.path) ?? pathOf(args);
  const newText = details.afterFullFileContent ?? (isFine ? args.fileText : undefined);
  if (path !== undefined && typeof newText === 'string') {
    const oldText = typeof details.beforeFullFileContent === 'string' ? details.beforeFullFileContent : null;
    return [{ type: 'diff', path: posix.resolve(cwd, path), oldText, newText }];
  }
  if (path !== undefined && typeof details.prevContent === 'string')
    return [{ type: 'diff', path: posix.resolve(cwd, path), oldText: details.prevContent, newText: '' }];
  if (firstText(details.diffString) !== undefined) return [shown(String(details.diffString), 'diff')];
  const output = [details.stdout, details.stderr, details.output]
    .filter((each) => firstText(each) !== undefined)
    .join('\n');
  const exitCode = firstNumber(details.exitCode);
  if (kindOf(name) === 'execute' && (isFine || exitCode !== undefined)) {
    const code = exitCode === undefined ? '' : `Exit code: ${exitCode}\n`;
    return [shown(`${code}${output === '' ? '(no output)' : output}`)];
  }
  if (output !== '') return [shown(output)];
  const fault = firstText(
    details.error,
    details.message,
    details.reason,
    details.errorMessage,
    shapeOf(result).error,
  );
  return isFine ? [] : [text(fault ?? `${name} has failed`)];
}

/** Output as a block that no output can end. */
function shown(output: string, language = ''): ToolCallContent {
  const fence = fenceFor(output);
  return text(`${fence}${language}\n${output.replace(/\n$/, '')}\n${fence}`);
}

/** A fence of Markdown that is longer than any in the text. */
export function fenceFor(output: string): string {
  const runs = output.match(/`+/g) ?? [];
  return '`'.repeat(runs.reduce((most, run) => Math.max(most, run.length), 2) + 1);
}

function text(value: string): ToolCallContent {
  return { type: 'content', content: { type: 'text', text: value } };
}

function pathOf(args: Shape): string | undefined {
  return firstText(
    args.path,
    args.filePath,
    args.file_path,
    args.targetFile,
    args.target_file,
    args.targetDirectory,
  );
}

/** Arguments; `function` has them as JSON text. */
function argsOf(value: unknown): Shape {
  if (typeof value !== 'string') return shapeOf(value);
  try {
    return jsonIn(value);
  } catch {
    return { text: value };
  }
}
