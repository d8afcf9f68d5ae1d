/**
 * Installs npm packages into an image: `node npm-install.cjs PREFIX PACKAGE...`, in a step of agent.Dockerfile, so only
 * with what Node and npm bring.
 *
 * npm says nothing when it could not fetch an optional package. Agents have their program for each platform in one, so
 * that the image would be made without it: we look for it, try once more, and fail.
 */
const { execFileSync, spawnSync } = require('node:child_process');
const { existsSync, readFileSync, readdirSync } = require('node:fs');
const { dirname, join } = require('node:path');

const [prefix, ...packages] = process.argv.slice(2);
const options = ['--global', '--prefix', prefix, '--no-audit', '--no-fund', '--no-update-notifier'];
const libc = process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';

function install() {
  const { status } = spawnSync('npm', ['install', ...options, ...packages], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

/** The folders of all packages below a `node_modules`. */
function foldersIn(modules) {
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  return names.flatMap((name) => {
    const folder = join(modules, name);
    const inner = foldersIn(join(folder, 'node_modules'));
    return existsSync(join(folder, 'package.json')) ? [folder, ...inner] : inner;
  });
}

function isThere(name, folder) {
  const found = existsSync(join(folder, 'node_modules', name));
  return found || (folder !== dirname(folder) && isThere(name, dirname(folder)));
}

/** What npm has left out although it is for this platform, as `name@version`. */
function missing() {
  const found = foldersIn(join(prefix, 'lib/node_modules')).flatMap((folder) => {
    const { optionalDependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return Object.entries(optionalDependencies)
      .filter(([name]) => name.includes(process.platform) && name.includes(process.arch))
      .filter(([name]) => !isThere(name, folder))
      .map(([name, version]) => (version.startsWith('npm:') ? version.slice(4) : `${name}@${version}`));
  });
  return [...new Set(found)].filter(isForThisPlatform);
}

/** Also if nobody tells. A version that its maker has not published yet is of the platform of the others. */
function isForThisPlatform(name) {
  const wanted = libcOf(name) ?? libcOf(name.slice(0, name.lastIndexOf('@'))) ?? [];
  return wanted.length === 0 || wanted.includes(libc);
}

/** `undefined`: the registry does not know it. */
function libcOf(name) {
  try {
    const told = execFileSync('npm', ['view', name, 'libc', '--json'], { encoding: 'utf8' });
    // npm tells nothing where a package is for each, and a list of lists where several versions fit.
    return [JSON.parse(told || '[]')].flat(2);
  } catch {
    return undefined;
  }
}

install();
if (missing().length > 0) install();
const names = missing();
if (names.length > 0) {
  console.error(`cai: npm left out ${names.join(', ')}, which is needed here: is it in the npm registry?`);
  process.exit(1);
}
