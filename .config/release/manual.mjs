/* The manual page cai(1): the help of `cai`, and of each command that it names, as it stands. */
import { execFileSync } from 'node:child_process';

/** `program`: the path of `bin/cai`. Returns the page as man(7) has it. */
export function manualOf(program, version) {
  const run = (...args) => execFileSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  const all = run('--help');
  const [title, ...help] = all.split('\n');
  const named = [...all.matchAll(/^ {2}cai ([a-z]+)/gm)].map(([, name]) => name);
  const commands = [...new Set(named)].filter((name) => name !== 'acp');
  return [
    `.TH CAI 1 "" "cai ${version}"`,
    ...['.SH NAME', shown(title)],
    ...['.SH SYNOPSIS', '.B cai', '.I command', '.RI [ arguments ...]'],
    ...['.SH COMMANDS', ...block(help.join('\n'))],
    ...commands.flatMap((name) => [`.SH CAI ${name.toUpperCase()}`, ...block(run(name, '--help'))]),
    '',
  ].join('\n');
}

/** Lines that stay as they are. */
function block(text) {
  return ['.nf', ...text.trim().split('\n').map(shown), '.fi'];
}

/** Without what man would take for its own: a dot or quote at the beginning, backslashes, hyphens that can be copied. */
function shown(line) {
  return line.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&');
}
