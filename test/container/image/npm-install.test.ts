import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { listening } from '../../support/listening';
import { newFolder } from '../../support/temp-folder';

const program = join(__dirname, '../../../src/container/image/npm-install.cjs');
/** What the agent's program for this machine is in, for another C library, and for another processor. */
const native = `agent-${process.platform}-${process.arch}`;
const otherLibc = `${native}-musl`;
/** The same, in an older version alone. */
const unpublished = `${native}-baseline-musl`;
const other = `agent-${process.platform}-mips`;
const manifests: Readonly<Record<string, Readonly<Record<string, unknown>> & { readonly version?: string }>> =
  {
    agent: {
      optionalDependencies: {
        [native]: 'npm:renamed@1.0.0',
        ...{ [otherLibc]: '1.0.0', [unpublished]: '1.0.0', [other]: '1.0.0' },
      },
    },
    alone: { optionalDependencies: { [native]: 'npm:renamed@1.0.0' } },
    renamed: { os: [process.platform], cpu: [process.arch] },
    [otherLibc]: { os: [process.platform], libc: ['musl'] },
    [unpublished]: { version: '0.9.0', os: [process.platform], libc: ['musl'] },
    [other]: { os: [process.platform], cpu: ['mips'] },
  };

/**
 * Installs an agent, `agent` or `alone`, from a registry that does not have the archive of the native package for the first
 * `refused` times.
 */
async function install(refused: number, agent = 'agent') {
  let asked = 0;
  const server = createServer((from, to) => {
    const name = decodeURIComponent(from.url!.slice(1));
    if (name === 'renamed.tgz' && asked++ < refused) to.writeHead(404).end();
    else if (name.endsWith('.tgz')) void archiveOf(name.slice(0, -4)).then((archive) => to.end(archive));
    else to.end(JSON.stringify(packument(name, from.headers.host!)));
  });
  const port = await listening(server);
  const folder = newFolder();
  const env = {
    PATH: process.env.PATH,
    HOME: newFolder(),
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: newFolder(),
    npm_config_update_notifier: 'false',
  };
  const ended = await new Promise<{ code: unknown; stderr: string }>((resolve) =>
    execFile(process.execPath, [program, folder, `${agent}@1.0.0`], { env }, (error, _stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stderr }),
    ),
  );
  const modules = join(folder, 'lib/node_modules/agent/node_modules');
  return { ...ended, asked, has: (name: string) => existsSync(join(modules, name, 'package.json')) };
}

function manifestOf(name: string) {
  return { name, version: '1.0.0', ...manifests[name] };
}

function packument(name: string, host: string) {
  const version = { ...manifestOf(name), dist: { tarball: `http://${host}/${name}.tgz` } };
  return { name, 'dist-tags': { latest: version.version }, versions: { [version.version]: version } };
}

async function archiveOf(name: string): Promise<Buffer> {
  const archive = pack();
  archive.entry({ name: 'package/package.json' }, JSON.stringify(manifestOf(name)));
  archive.finalize();
  return gzipSync(await buffer(archive));
}

test('tries once more where npm has left out a package for this platform', async () => {
  const { code, asked, has } = await install(1);

  expect([code, asked]).toEqual([0, 2]);
  expect([has(native), has(otherLibc), has(other)]).toEqual([true, false, false]);
});

test('fails, and names the package, where npm leaves it out again', async () => {
  const { code, stderr } = await install(2, 'alone');

  expect(code).toBe(1);
  expect(stderr).toContain('cai: npm left out renamed@1.0.0, which is needed here');
});
