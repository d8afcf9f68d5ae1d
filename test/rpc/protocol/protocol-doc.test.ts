import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentMethods, editorMethods, type Method } from '../../../src/rpc/protocol/methods';
import { rpcCode } from '../../../src/errors';

const page = readFileSync(join(__dirname, '../../../docs/protocol.md'), 'utf8');

/** The lines below a heading of the page, up to the next. */
function section(heading: string): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  return text?.split('\n').slice(1) ?? [];
}

/** The cells of a section's table, without its two head lines, code marks and padding. */
function cellsOf(heading: string): string[][] {
  const lines = section(heading).filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.replaceAll('`', '').trim()),
  );
}

describe.each<[string, Readonly<Record<string, Method<string>>>]>([
  ['From the editor', editorMethods],
  ['From an agent', agentMethods],
])('docs/protocol.md, "%s"', (heading, methods) => {
  test('lists every method with its route and what it needs', () => {
    expect(cellsOf(heading).map((cells) => cells.slice(0, 3))).toEqual(
      Object.entries(methods).map(([method, { route, capability }]) => [method, route, capability ?? '']),
    );
  });

  test('says of a method that something is rewritten if, and only if, it has places', () => {
    const silent = cellsOf(heading).filter((cells) => cells[3] === '');

    const bare = Object.entries(methods).filter(([, { params, result }]) =>
      [params, result].every((tree) => Object.values(tree).every((kind) => kind === 'requestId')),
    );
    expect(silent.map(([method]) => method)).toEqual(bare.map(([method]) => method));
  });

  test('explains every route, and no other', () => {
    const explained = section(heading)
      .filter((line) => line.startsWith('- `'))
      .flatMap((line) => line.slice(0, line.indexOf(':')).match(/\w+/g) ?? []);

    const routes = new Set(Object.values(methods).map(({ route }) => route));
    expect([...explained].sort()).toEqual([...routes].sort());
  });
});

describe('docs/protocol.md', () => {
  test('lists the error codes of the proxy', () => {
    const codes = cellsOf("Errors of the proxy's own").map(([code]) => Number(code));

    expect(codes).toEqual(Object.values(rpcCode));
  });
});
