/*
 * `npm run build`: bundles `src` into `dist`, writes the types of the package's entry, then has V8 compile what an editor waits for,
 * so that no start has to.
 */
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { build as bundle } from 'esbuild';
import ts from 'typescript';
import { fakeEngine } from './fake-engine.mjs';

const root = join(import.meta.dirname, '..');
const commands = ['acp/acp', 'acp/agent-on-terminal', 'acp/connection', 'commands'];

const options = {
  absWorkingDir: root,
  outdir: 'dist',
  outbase: 'src',
  // Of what the door of a room passes on, a bundle has only what it uses: `sideEffects` in package.json.
  bundle: true,
  platform: 'node',
  target: 'node20',
  // V8 keeps the text in memory, and with 8 MB of old objects it collects them all far more often.
  minifyWhitespace: true,
  lineLimit: 120,
  format: 'cjs',
  // Each command is loaded when it is wanted.
  external: ['./commands/*', './connection', './agent-on-terminal'],
  supported: { 'dynamic-import': false },
  alias: {
    // Of what libraries bring along, this is never used.
    '@grpc/grpc-js': 'node:events',
    '@grpc/proto-loader': 'node:events',
    'cpu-features': 'node:events',
    // Its other form cannot be bundled.
    'jsonc-parser': 'jsonc-parser/lib/esm/main.js',
  },
  loader: { '.node': 'empty' },
  logLevel: 'error',
};

/** What `bin/cai` loads is a function, whose first line says of which build it is: the caches are of that build. */
const loadedByCai = {
  banner: {
    js: `// ${randomUUID()}\n(function (exports, require, module, __filename, __dirname) {`,
  },
  footer: { js: '})' },
};

/**
 * Parts of Node that are slow to load are loaded when one of their names is used: an editor that waits mostly needs none of
 * them. ssh2 looks at zlib as soon as it is loaded, and has agents of HTTP: it is never asked to compress, nor for those.
 * docker-modem has a way over SSH of its own, which would load ssh2 for all that ask an engine: ours is another.
 */
const lateParts = {
  name: 'parts of Node that are loaded late',
  setup({ onResolve, onLoad }) {
    const parts =
      /^(?:node:)?(child_process|dns|dns\/promises|http|https|net|readline|readline\/promises|tls|v8|zlib)$/;
    onResolve({ filter: parts }, ({ path, importer, namespace }) => {
      if (namespace === 'late') return { path, external: true };
      const isUnused = path === 'zlib' && importer.includes('/node_modules/ssh2/');
      return { path: isUnused ? 'unused' : `node:${parts.exec(path)[1]}`, namespace: 'late' };
    });
    onResolve({ filter: /^\.\/http-agents\.js$/ }, () => ({ path: 'unused', namespace: 'late' }));
    onResolve({ filter: /^\.\/ssh$/ }, ({ importer }) =>
      importer.includes('/node_modules/docker-modem/') ? { path: 'unused', namespace: 'late' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'late' }, async ({ path }) => {
      if (path === 'unused')
        return { contents: 'exports.constants = {}; exports.createInflate = () => ({ _handle: {} });' };
      const names = Object.keys(await import(path)).filter((name) => name !== 'default');
      return {
        contents: `for (const name of ${JSON.stringify(names)})
          Object.defineProperty(exports, name, {
            enumerable: true,
            configurable: true,
            get() { return (this[name] = require('${path}')[name]); },
            set(value) { Object.defineProperty(this, name, { value, writable: true, enumerable: true }); },
          });`,
      };
    });
  },
};

/** The commands take our errors from `main`, which has to know those of each. */
const sharedErrors = {
  name: 'shared errors',
  setup({ onResolve }) {
    onResolve({ filter: /\/errors$/ }, ({ path, resolveDir }) =>
      join(resolveDir, path) === join(root, 'src/errors')
        ? { path: 'cai:errors', external: true }
        : undefined,
    );
  },
};

/** Folders of the packages that bundles have something of, below the root. */
const bundled = new Set(['node_modules/@devcontainers/cli']);
/** What this build has written, below `dist`; of folders that are copied, their names. */
const written = new Set(['devcontainers-cli', 'LICENCES.txt']);

await build({ ...options, ...loadedByCai, plugins: [lateParts], entryPoints: ['src/main.ts'] });
// For other programs, which have nothing else of ours in their process.
await build({ ...options, entryPoints: ['src/embed/index.ts'] });
// `bin/cai-cursor`, an agent of its own, of which `cai` loads nothing.
await build({ ...options, entryPoints: ['src/cursor/main.ts'] });
// For browsers: `cai serve` and `cai inspect` send them these files.
await build({
  absWorkingDir: root,
  entryPoints: {
    app: 'src/served/page/main.ts',
    style: 'src/served/page/style.css',
    inspect: 'src/served/page/inspect/main.ts',
    'inspect-style': 'src/served/page/inspect/inspect.css',
  },
  outdir: 'dist/page',
  bundle: true,
  minify: true,
  format: 'esm',
  target: ['es2022', 'safari15.4', 'firefox115', 'chrome110'],
  logLevel: 'error',
});
for (const page of ['index.html', 'inspect/inspect.html']) {
  written.add(`page/${basename(page)}`);
  copyFileSync(join(root, 'src/served/page', page), join(root, 'dist/page', basename(page)));
}
// It runs as a process of its own, so it is not bundled.
cpSync(join(root, 'node_modules/@devcontainers/cli'), join(root, 'dist/devcontainers-cli'), {
  recursive: true,
});
declareTypes(['embed/index', 'embed/connect', 'embed/message', 'errors']);
await build({
  ...options,
  ...loadedByCai,
  entryPoints: commands.map((name) => `src/commands/${name}.ts`),
  plugins: [sharedErrors, lateParts],
});

writeFileSync(join(root, 'dist/LICENCES.txt'), [...bundled].sort().map(licenceOf).join('\n'));
removeOthers('');

const home = mkdtempSync(join(tmpdir(), 'cai-build-'));
try {
  const workspace = join(home, 'workspace');
  mkdirSync(join(home, '.config/containai'), { recursive: true });
  mkdirSync(workspace);
  // What a workspace most often has, so that what looks at it is compiled, too.
  spawnSync('git', ['init', '--quiet', workspace]);
  for (const folder of ['.vscode', '.claude/commands'])
    mkdirSync(join(workspace, folder), { recursive: true });
  const agent = JSON.stringify([process.execPath, join(root, 'fixtures/mock-acp-server'), '--acp']);
  writeFileSync(join(home, '.config/containai/config.toml'), `[agents.mock]\ncommand = ${agent}\n`);
  // The first run records what the agent answers; in the second that is known.
  await compile(['--acp', 'mock'], { CAI_ACP_DIRECT_SPAWN: '1' });
  await compile(['--acp', 'mock'], { CAI_ACP_DIRECT_SPAWN: '1' });
  const socket = join(home, 'engine');
  const engine = fakeEngine(socket);
  const exec = ['exec', '--workspace', workspace, '--agent', 'mock', '--', 'true'];
  // The first run makes the container; in the second it is there.
  for (const args of [exec, exec]) await compile(args, { DOCKER_HOST: `unix://${socket}` });
  engine.close();
  engine.closeAllConnections();

  /** Runs `cai` as an editor that opens a session; resolves when it has ended. */
  async function compile(args, variables) {
    const clientInfo = { name: 'build', version: '1' };
    const calls = [
      ['initialize', { protocolVersion: 1, clientInfo, clientCapabilities: {} }],
      ['session/new', { cwd: workspace, mcpServers: [] }],
    ];
    const input = calls.map(
      ([method, params], id) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`,
    );
    const env = { PATH: process.env.PATH, HOME: home, CAI_BUILD: '1', ...variables };
    const program = join(root, 'bin/cai');
    const child = spawn(process.execPath, [program, ...args], {
      cwd: home,
      env,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Not all read it.
    child.stdin.on('error', () => undefined).end(input.join(''));
    await once(child, 'close');
  }
} finally {
  rmSync(home, { recursive: true, force: true });
}

/** Bundles, and notes the packages. */
async function build(parts) {
  const { metafile } = await bundle({ ...parts, metafile: true });
  for (const [output, { inputs }] of Object.entries(metafile.outputs)) {
    written.add(relative('dist', output));
    for (const path of Object.keys(inputs)) {
      const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
      if (folder !== undefined) bundled.add(folder);
    }
  }
}

/** The name, version and licence of a package, with the text where the package has one. */
function licenceOf(folder) {
  const { name, version, license, licenses } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  );
  const isLicence = (file) => /^(licen[cs]e|copying|notice|thirdparty)/i.test(file);
  const files = readdirSync(join(root, folder)).filter(isLicence);
  const texts = files.map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  return [`===== ${name} ${version} (${license ?? licenses[0].type}) =====`, ...texts, ''].join('\n\n');
}

/** Writes the declarations of these files, which say all that their exports need: nothing is looked up elsewhere. */
function declareTypes(names) {
  const files = names.map((name) => join(root, `src/${name}.ts`));
  const program = ts.createProgram(files, {
    ...{
      declaration: true,
      emitDeclarationOnly: true,
      noCheck: true,
      noLib: true,
      noResolve: true,
      types: [],
    },
    ...{ target: ts.ScriptTarget.ES2023, strict: true },
    ...{ rootDir: join(root, 'src'), outDir: join(root, 'dist') },
  });
  program.emit(undefined, (file, text) => {
    written.add(relative(join(root, 'dist'), file));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  });
}

/** Removes what earlier builds have left in a folder below `dist`: all else may be in use while this one runs. */
function removeOthers(folder) {
  for (const entry of readdirSync(join(root, 'dist', folder), { withFileTypes: true })) {
    const path = join(folder, entry.name);
    // What V8 has compiled lies beside its bundle.
    if (written.has(path.replace(/\.cache$/, ''))) continue;
    const hasMore = [...written].some((each) => each.startsWith(`${path}/`));
    if (hasMore) removeOthers(path);
    else rmSync(join(root, 'dist', path), { recursive: true, force: true });
  }
}
