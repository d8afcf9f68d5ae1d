/** Somebody who uses `cai` on the cluster, and what of that user is there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineConfig, filesConfig } from '../engine/engines';
import { provideImages } from '../engine/model';
import type { Ended, Running } from '../engine/running';
import { patienceMs } from '../support/patience';
import { Cai, folder, ownFile } from '../engine/support';
import { hastened } from '../support/hastened';
import type { Place } from './place';

const registry = process.env.CAI_TEST_REGISTRY ?? '';
let lastConfig = 0;

/** How a command is run. */
export interface UserRun {
  /** Its workspace. */
  readonly cwd: string;
  /** What it finds in place of the user's configuration: a folder of `ClusterUser.configured`. */
  readonly config?: string;
  /** What it finds in place of the user's state: a folder. */
  readonly state?: string;
  /** Whether its timers run out 10 times as fast. */
  readonly isHastened?: boolean;
}

/** A user with the image of an agent in the registry. */
export class ClusterUser {
  readonly cai: Cai;
  readonly #config: string;

  private constructor(
    private readonly place: Place,
    more: string,
  ) {
    this.#config = `${more}${engineConfig(place.namespace)}${filesConfig}\n[image]\nregistry = "${registry}/cai"\n`;
    this.cai = new Cai(this.#config);
    ownFile(join(folder, 'kubeconfig'), readFileSync(process.env.KUBECONFIG!));
    this.cai.env.KUBECONFIG = join(folder, 'kubeconfig');
  }

  /** `config`: what else the user has configured. */
  static async make(place: Place, config = ''): Promise<ClusterUser> {
    const user = new ClusterUser(place, config);
    await provideImages('claude');
    return user;
  }

  /** The configuration, but for that part: for `UserRun.config`. */
  configured(part: string, other: string): string {
    if (!this.#config.includes(part)) throw new Error(`the configuration has no ${part}`);
    const config = join(this.cai.home, `config-${++lastConfig}`);
    const text = readFileSync(this.cai.configFile, 'utf8').replace(part, other);
    ownFile(join(config, 'containai/config.toml'), text);
    return config;
  }

  /** Starts a command in the container of a workspace. */
  start(command: readonly string[], how: UserRun): Running {
    return this.#run(['exec', '--quiet', '--', ...command], how);
  }

  /** Runs a command in the container of a workspace to its end, whatever that is. */
  async exec(command: readonly string[], how: UserRun): Promise<Ended> {
    return await this.start(command, how).ends();
  }

  /** What a command prints that succeeds. */
  async prints(command: readonly string[], how: UserRun): Promise<string> {
    return (await this.start(command, how).succeeds()).stdout.toString().trim();
  }

  /** Removes all that there is of a workspace, or of the user. */
  async remove(cwd?: string): Promise<void> {
    const whose = cwd === undefined ? ['--all'] : ['--workspace', cwd];
    await this.#run(['rm', '--force', '--volumes', ...whose], { cwd: this.cai.home }).succeeds(
      2 * patienceMs,
    );
  }

  /** The objects of ours that are there, as `pod/NAME`, of these kinds. */
  async objects(kinds = 'pods,secrets,pvc'): Promise<string> {
    return await this.place.kubectl(['get', kinds, '--selector', 'containai.managed', '--output', 'name']);
  }

  #run(args: readonly string[], { cwd, config, state, isHastened = false }: UserRun): Running {
    const folders = { ...(config && { XDG_CONFIG_HOME: config }), ...(state && { XDG_STATE_HOME: state }) };
    const env = { ...folders, ...(isHastened && hastened) };
    const running = this.cai.start(args, { cwd, env });
    running.child.stdin.end();
    return running;
  }
}
