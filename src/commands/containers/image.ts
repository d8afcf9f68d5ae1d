/** `cai image add`: what agents find in their containers besides the usual programs. */
import type { Host } from '../../system/host';
import { configFileOf } from '../../config/config';
import { debianPackages } from '../../config/config-words';
import { ownValue } from '../../config/own-property';
import { CaiError } from '../../errors';
import { quoted } from '../../system/quoted';
import { declare } from '../support/command';
import { addToConfig } from '../support/edit-config';
import { tell } from '../support/terminal';

/** Debian's packages for a purpose, by the name that people know. */
export const presets: Readonly<Record<string, readonly string[]>> = {
  python: ['python3-dev', 'python3-pytest'],
  go: ['golang'],
  rust: ['cargo', 'rustc', 'rustfmt', 'rust-clippy'],
  java: ['default-jdk-headless', 'maven'],
  browser: ['chromium', 'fonts-liberation', 'fonts-noto-color-emoji'],
};

export const run = declare({
  name: 'image',
  description: `Adds programs to the images of all agents: "apt" in [image] of the configuration. "cai build
AGENT" installs them, for each agent that you use.`,
  arguments: [
    ['<action>', 'add', ['add']],
    ['<name...>', `${Object.keys(presets).join(', ')}, or Debian packages`, Object.keys(presets)],
  ],
  options: [],
  footer: `
${Object.entries(presets)
  .map(([name, packages]) => `${name.padEnd(8)}${packages.join(', ')}`)
  .join('\n')}

For npm packages there is "packages" in [image], for anything else a Dockerfile: see docs/configuration.md.`,
  action: (_options, host, [action, ...names]) => add(host, action!, names),
});

function add(host: Host, action: string, names: readonly string[]): number {
  if (action !== 'add')
    throw new CaiError('USAGE', `"cai image ${action}" is not a command: there is "cai image add NAME..."`);
  const packages = names.flatMap((name) => ownValue(presets, name) ?? [name]);
  const strange = packages.find((name) => debianPackages.read([name]) === undefined);
  if (strange !== undefined)
    throw new CaiError(
      'USAGE',
      `${quoted(strange)} is neither a Debian package name nor one of ${Object.keys(presets).join(', ')}`,
    );
  const added = addToConfig(host, ['image', 'apt'], packages);
  const file = configFileOf(host);
  if (added.length === 0) tell(`${file} has them already`);
  else
    tell(`${file}: added ${added.join(', ')}; to install them, for each agent that you use: cai build AGENT`);
  return 0;
}
