/* Where a measure works that needs containers: of the engine that DOCKER_HOST names, or that `docker` finds. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cai, Place } from './contenders.mjs';

/** The image of the agent `bench`. */
export const image = 'containai:bench';

/** Why there can be no containers here. */
export function withoutEngine() {
  const { status, error, stderr } = spawnSync('docker', ['version'], { encoding: 'utf8', timeout: 10_000 });
  if (error !== undefined) return `docker cannot be run: ${error.message}`;
  return status === 0 ? undefined : `no engine answers: ${stderr.trim().split('\n').at(-1)}`;
}

/** A workspace, and a user whose agents run in containers. */
export class ContainerPlace extends Place {
  constructor() {
    super();
    const engine = Object.entries(process.env).filter(([name]) => name.startsWith('DOCKER_'));
    this.env = { PATH: process.env.PATH, HOME: this.home, ...Object.fromEntries(engine) };
    this.root = this.workspace();
  }

  /**
   * Writes the configuration: the agent's command, lines of `[network]`, and lines of further tables. Builds the image if
   * it is missing.
   */
  configure(command, network = [], tables = []) {
    // What the engine tests need to build images, and containers have to do without; nothing where these are not set.
    const { CAI_TEST_CA_FILE: caFile, CAI_TEST_NPM_REGISTRY: registry } = process.env;
    const mirrors = Object.entries({ ca_file: caFile, npm_registry: registry }).filter(([, value]) => value);
    this.#write(
      command,
      [...mirrors.map(([key, value]) => `${key} = ${JSON.stringify(value)}`), ...network],
      tables,
    );
    this.provideImage();
    this.#write(command, network, tables);
  }

  #write(command, network, tables) {
    writeFileSync(
      join(this.home, '.config/containai/config.toml'),
      ['[agents.bench]', `command = ${JSON.stringify(command)}`, '[network]', ...network, ...tables, ''].join(
        '\n',
      ),
    );
  }

  /** Builds it if it is missing. */
  provideImage() {
    if (spawnSync('docker', ['image', 'inspect', image]).status !== 0)
      this.cai(['build', '--agent', 'bench']);
  }

  /** Runs a command of `cai` to its end; its output is returned. */
  cai(args, env = {}) {
    const [program, script] = cai;
    return execFileSync(program, [script, ...args], {
      cwd: this.root,
      env: { ...this.env, ...env },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  /** The arguments of `cai` for a command in the workspace's container. */
  inside(...command) {
    return ['exec', '--quiet', '--agent', 'bench', '--workspace', this.root, '--', ...command];
  }

  remove() {
    try {
      this.cai(['rm', '--all', '--agent', 'bench', '--volumes', '--force']);
    } finally {
      super.remove();
    }
  }
}
