/** The rules of `test/architecture.test.ts`: each takes parsed sources and tells its findings as sentences. */
import { posix } from 'node:path';
import { analyse } from 'scslre';
import ts from 'typescript';

/** One source file. */
export interface Source {
  /** Below `src`, without extension: `proxy/proxy`. */
  readonly path: string;
  /** What the compiler reads in it. */
  readonly tree: ts.SourceFile;
}

/** Parses sources, given by path below `src` without extension. */
export function parse(texts: Readonly<Record<string, string>>): Source[] {
  return Object.entries(texts).map(([path, text]) => ({
    path,
    tree: ts.createSourceFile(`${path}.ts`, text, ts.ScriptTarget.Latest, true),
  }));
}

/**
 * Layers from the lowest to the highest. A part is a file, or a folder with a slash at its end; the longest
 * that fits counts.
 */
export type Layers = readonly (readonly string[])[];

/** Imports that do not go to a lower layer or stay in their part. */
export function upwardImports(sources: readonly Source[], layers: Layers): string[] {
  const placeOf = (path: string): { part: string; layer: number } | undefined => {
    const parts = layers.flatMap((layer, index) => layer.map((part) => ({ part, layer: index })));
    return parts.filter(({ part }) => isIn(path, [part])).sort((a, b) => b.part.length - a.part.length)[0];
  };
  const homeless = sources.filter(({ path }) => !placeOf(path)).map(({ path }) => `${path} is in no layer`);
  const upward = edgesOf(sources).filter(({ from, to }) => {
    const [here, there] = [placeOf(from), placeOf(to)];
    return here && there && there.part !== here.part && there.layer >= here.layer;
  });
  return [...homeless, ...upward.map(({ from, to }) => `${from} imports ${to}, which is not below it`)];
}

/** The files that a reader opens, in this order, to follow one thing through the sources. */
export interface Walk {
  /** The first is where it begins. Each other one is imported by one before it. */
  readonly files: readonly string[];
  /** Files, and folders with a slash at their end, that files of the walk import and a reader need not open: why. */
  readonly aside: Readonly<Record<string, string>>;
  /** No more files and lines than these, which are as many as there are: they only go down. */
  readonly most: { readonly files: number; readonly lines: number };
}

/** What is wrong with a walk. */
export function walkFaults(sources: readonly Source[], { files, aside, most }: Walk): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const known = files.filter((path) => byPath.has(path));
  const lines = known.reduce((sum, path) => sum + linesOf(byPath.get(path)!), 0);
  const edges = edgesOf(sources);
  const isReached = (path: string, index: number): boolean =>
    index === 0 || edges.some(({ from, to }) => to === path && files.slice(0, index).includes(from));
  const left = edges.filter(
    ({ from, to, isOfTypes: isType }) => !isType && files.includes(from) && !files.includes(to),
  );
  const parts = Object.keys(aside);
  return [
    ...files.filter((path) => !byPath.has(path)).map((path) => `${path} does not exist`),
    ...files.filter((path, index) => !isReached(path, index)).map((path) => `nothing leads to ${path}`),
    ...left
      .filter(({ to }) => !isIn(to, parts))
      .map(({ from, to }) => `${to}, which ${from} imports, is left out without a reason`),
    ...parts
      .filter((part) => !left.some(({ to }) => isIn(to, [part])))
      .map((part) => `${part} is set aside for nothing`),
    ...(files.length > most.files ? [`${files.length} files`] : []),
    ...(lines > most.lines ? [`${lines} lines`] : []),
  ];
}

/** Files that import each other in a circle, type imports included. */
export function importCycles(sources: readonly Source[]): string[] {
  const edges = edgesOf(sources);
  const cycles: string[] = [];
  const done = new Set<string>();
  const follow = (path: string, trail: string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' > '));
    if (start >= 0 || done.has(path)) return;
    for (const { from, to } of edges) if (from === path) follow(to, [...trail, path]);
    done.add(path);
  };
  for (const { path } of sources) follow(path, []);
  return cycles;
}

/** Imports of `part` by `path` that are more than an `import()` at run time. */
export function staticImports(sources: readonly Source[], path: string, part: string): string[] {
  return edgesOf(sources)
    .filter(({ from, to, isDynamic }) => from === path && isIn(to, [part]) && !isDynamic)
    .map(({ from, to }) => `${from} loads ${to} before it is wanted`);
}

/**
 * Imports of what is behind a door, from outside its parent folder, or from outside the folder if that is at the top.
 * `doors`: for each folder the file to import; a room inside a room may have one, too.
 */
export function backDoors(sources: readonly Source[], doors: Readonly<Record<string, string>>): string[] {
  const behind = edgesOf(sources).filter(({ to }) => !Object.values(doors).includes(to));
  return Object.entries(doors).flatMap(([folder, door]) => {
    const parent = posix.dirname(folder);
    const inside = parent === '.' ? folder : `${parent}/`;
    return behind
      .filter(({ from, to }) => isIn(to, [folder]) && !isIn(from, [inside]))
      .map(({ from, to }) => `${from} imports ${to}, and not ${door}`);
  });
}

/** Files with more lines than that. */
export function longFiles(sources: readonly Source[], maxLines: number): string[] {
  return sources
    .map((source) => ({ path: source.path, lines: linesOf(source) }))
    .filter(({ lines }) => lines > maxLines)
    .map(({ path, lines }) => `${path} has ${lines} lines`);
}

function linesOf({ tree }: Source): number {
  return tree.text.trimEnd().split('\n').length;
}

/** Regular expressions whose time may grow with the square of a text's length, or faster. */
export function slowExpressions(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, tree }) =>
    nodesOf(tree)
      .filter(ts.isRegularExpressionLiteral)
      .filter(({ text }) => {
        const end = text.lastIndexOf('/');
        return analyse({ source: text.slice(1, end), flags: text.slice(end + 1) }).reports.length > 0;
      })
      .map(({ text }) => `${path} has ${text}`),
  );
}

/** Folders with more files than that; doors and the files in folders below them are not counted. */
export function crowdedFolders(paths: readonly string[], maxFiles: number): string[] {
  const counts = new Map<string, number>();
  const files = paths.filter((path) => posix.basename(path) !== 'index');
  for (const folder of files.map((path) => posix.dirname(path)))
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > maxFiles)
    .map(([folder, count]) => `${folder} has ${count} files`);
}

/**
 * Exported functions without a doc comment that files of other rooms import, directly or by one of the `doors`: their types
 * tell neither errors nor units. Only doors export what is declared elsewhere.
 */
export function undocumented(sources: readonly Source[], doors: readonly string[] = []): string[] {
  const used = new Set(sources.flatMap((source) => importedNames(source, doors)));
  return sources
    .filter(({ path }) => !doors.includes(path))
    .flatMap(({ path, tree }) =>
      tree.statements.flatMap((statement) => {
        if (ts.isExportDeclaration(statement) || ts.isExportAssignment(statement)) {
          return [`${path}: exports something that is declared elsewhere`];
        }
        if (!ts.isFunctionDeclaration(statement) || !isExported(statement) || hasDoc(statement)) return [];
        return namesOf(statement)
          .filter((name) => used.has(`${path}:${name}`))
          .map((name) => `${path}: ${name} has no doc comment`);
      }),
    );
}

/** What a file imports of other rooms, or passes on as a door, each as `path:name`. */
function importedNames({ path, tree }: Source, doors: readonly string[]): string[] {
  const roomOf = (file: string): string => file.split('/')[0]!;
  return tree.statements.flatMap((statement) => {
    const isImport = ts.isImportDeclaration(statement);
    if (!isImport && !ts.isExportDeclaration(statement)) return [];
    const from = posix.join(posix.dirname(path), moduleNameOf(statement) ?? '');
    if (roomOf(from) === roomOf(path) && !doors.includes(path)) return [];
    const bindings = isImport ? statement.importClause?.namedBindings : statement.exportClause;
    if (bindings === undefined || !('elements' in bindings)) return [];
    return bindings.elements.map(({ name, propertyName }) => `${from}:${(propertyName ?? name).text}`);
  });
}

/** What only some files may use. */
export type Use = 'process' | 'process.env' | 'console' | 'child_process' | 'write';

/** Uses of that outside the files and folders named. */
export function strayUses(sources: readonly Source[], use: Use, only: readonly string[]): string[] {
  return sources
    .filter(({ path }) => !isIn(path, only))
    .flatMap(({ path, tree }) =>
      nodesOf(tree)
        .filter((node) => isUse(node, use))
        .map((node) => `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1} uses ${use}`),
    );
}

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly isDynamic: boolean;
  /** Only types are imported. */
  readonly isOfTypes: boolean;
}

const edgesBySources = new WeakMap<readonly Source[], Edge[]>();

/** Who imports whom among the sources. */
function edgesOf(sources: readonly Source[]): Edge[] {
  const known = edgesBySources.get(sources) ?? newEdgesOf(sources);
  edgesBySources.set(sources, known);
  return known;
}

function newEdgesOf(sources: readonly Source[]): Edge[] {
  const paths = new Set(sources.map(({ path }) => path));
  return sources.flatMap(({ path: from, tree }) =>
    nodesOf(tree).flatMap((node) => {
      const name = moduleNameOf(node);
      if (name?.startsWith('.') !== true) return [];
      const target = posix.join(posix.dirname(from), name);
      const to = [target, `${target}/index`].find((path) => paths.has(path));
      return to === undefined
        ? []
        : [{ from, to, isDynamic: ts.isCallExpression(node), isOfTypes: isOfTypes(node) }];
    }),
  );
}

function isOfTypes(node: ts.Node): boolean {
  if (ts.isImportTypeNode(node)) return true;
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  if (!ts.isImportDeclaration(node) || node.importClause === undefined) return false;
  const { phaseModifier, name, namedBindings: names } = node.importClause;
  if (phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  if (name !== undefined || names === undefined || !ts.isNamedImports(names)) return false;
  return names.elements.every((element) => element.isTypeOnly);
}

/** The module that an import of any form names. */
function moduleNameOf(node: ts.Node): string | undefined {
  let name: ts.Node | undefined;
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) name = node.moduleSpecifier;
  else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) name = node.argument.literal;
  else if (ts.isCallExpression(node)) {
    const { expression } = node;
    const isRequire = ts.isIdentifier(expression) && expression.text === 'require';
    if (isRequire || expression.kind === ts.SyntaxKind.ImportKeyword) name = node.arguments[0];
  }
  return name && ts.isStringLiteral(name) ? name.text : undefined;
}

function isUse(node: ts.Node, use: Use): boolean {
  if (moduleNameOf(node)?.replace('node:', '') === use) return true;
  if (use === 'process.env') return isEnvironment(node);
  if (use === 'write') {
    return (
      ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) &&
      node.expression.name.text === use
    );
  }
  const isAccess = ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
  return isAccess && ts.isIdentifier(node.expression) && node.expression.text === use;
}

/** `process.env`, or `{ env } = process`. */
function isEnvironment(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return node.getText() === 'process.env';
  return (
    ts.isVariableDeclaration(node) &&
    node.initializer?.getText() === 'process' &&
    ts.isObjectBindingPattern(node.name) &&
    node.name.elements.some((element) => (element.propertyName ?? element.name).getText() === 'env')
  );
}

function isIn(path: string, parts: readonly string[]): boolean {
  return parts.some((part) => (part.endsWith('/') ? path.startsWith(part) : path === part));
}

const nodesByTree = new WeakMap<ts.Node, ts.Node[]>();

/** The tree of a file with all below it. */
function nodesOf(tree: ts.Node): ts.Node[] {
  const known = nodesByTree.get(tree);
  if (known !== undefined) return known;
  const found: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    found.push(node);
    node.forEachChild(visit);
  };
  visit(tree);
  nodesByTree.set(tree, found);
  return found;
}

function isExported(statement: ts.Statement): boolean {
  return hasModifier(statement, ts.SyntaxKind.ExportKeyword);
}

function hasModifier(node: ts.Node, ...kinds: ts.SyntaxKind[]): boolean {
  return ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kinds.includes(kind));
}

function hasDoc(node: ts.Node): boolean {
  return ts.getJSDocCommentsAndTags(node).length > 0;
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  const name = (statement as ts.DeclarationStatement).name;
  return name ? [name.getText()] : [];
}
