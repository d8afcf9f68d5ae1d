/** Programs that give credentials. Source: Kubernetes, "client-go credential plugins", and client.authentication.k8s.io/v1. */
import type { CaiError } from '../../../../errors';
import type { Entry } from './kubeconfig-file';
import { outputOf, type OutputFailure } from '../../../../system/program-output';
import { objectIn } from '../../../../system/unless';

/** So long before they expire, credentials count no more, in milliseconds. */
const earlyMs = 30_000;

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

/** What is shown to the API server. */
export interface Credentials {
  /** Shown in the header `Authorization`. */
  readonly token?: string;
  /** PEM; there with `key`. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

interface Given {
  readonly credentials: Credentials;
  readonly untilMs: number;
}

/** One program. It is run when its credentials are first wanted, and never twice at once. */
export class ExecPlugin {
  readonly #command: string;
  readonly #version: string;
  #given: Promise<Given> | undefined;

  /** Throws `NO_ENGINE` for settings that cannot be used. */
  constructor(
    private readonly exec: Entry,
    private readonly env: NodeJS.ProcessEnv,
    private readonly cluster: Readonly<Record<string, unknown>>,
    private readonly limitMs?: number,
  ) {
    const command = exec.needed('command');
    // A bare name is looked for in PATH.
    this.#command = command.includes('/') ? exec.path('command')! : command;
    this.#version = exec.needed('apiVersion');
    if (!versions.includes(this.#version))
      throw exec.refusal(
        `its exec plugin speaks ${this.#version}, and cai speaks ${versions.join(' and ')}: update "${command}" and its "apiVersion"`,
      );
    if (exec.value('interactiveMode') === 'Always')
      throw exec.refusal(
        `its exec plugin "${command}" needs a terminal: choose a way to sign in without one`,
      );
  }

  /** `refused`: what has its token or certificate counts no more. Rejects with `NO_ENGINE`. */
  async credentials(refused?: Credentials): Promise<Credentials> {
    const running = this.#given;
    const given = await running;
    if (given !== undefined && Date.now() < given.untilMs && !isSame(given.credentials, refused))
      return given.credentials;
    // Whoever comes meanwhile waits for the same program.
    if (this.#given === running) {
      const next = this.#run();
      this.#given = next;
      // A failure is not kept: the user may sign in meanwhile.
      next.catch(() => {
        if (this.#given === next) this.#given = undefined;
      });
    }
    return (await this.#given)!.credentials;
  }

  async #run(): Promise<Given> {
    const isTold = this.exec.value('provideClusterInfo') === true;
    const spec = { interactive: false, ...(isTold && { cluster: this.cluster }) };
    const info = { apiVersion: this.#version, kind: 'ExecCredential', spec };
    const pairs = this.exec.list('env').map((each) => [each.needed('name'), each.text('value') ?? '']);
    const env = {
      ...this.env,
      ...(Object.fromEntries(pairs) as Record<string, string>),
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    };
    const args = this.exec.value('args');
    return this.#read(await this.#output(Array.isArray(args) ? args.map(String) : [], env));
  }

  async #output(args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
    try {
      return await outputOf(this.#command, args, { env, limitMs: this.limitMs });
    } catch (reason) {
      const { message, isMissing } = reason as OutputFailure;
      throw this.#failure(message, isMissing ? this.#hint('install it') : undefined);
    }
  }

  #read(stdout: string): Given {
    const said = objectIn(stdout) ?? {};
    if (said.kind !== 'ExecCredential' || said.apiVersion !== this.#version)
      throw this.#failure(`what it says is no ExecCredential of ${this.#version}`);
    const status = (said.status ?? {}) as Readonly<Record<string, unknown>>;
    const [token, cert, key] = ['token', 'clientCertificateData', 'clientKeyData'].map((name) =>
      typeof status[name] === 'string' && status[name] !== '' ? status[name] : undefined,
    );
    if (token === undefined && (cert === undefined || key === undefined))
      throw this.#failure('it gives neither a token nor a certificate with its key');
    if (token !== undefined && !/^[!-~]+$/.test(token)) throw this.#failure('its token is not one word');
    const expires = Date.parse(String(status.expirationTimestamp));
    const credentials = {
      ...(token !== undefined && { token }),
      ...(cert !== undefined && key !== undefined && { cert: Buffer.from(cert), key: Buffer.from(key) }),
    };
    return { credentials, untilMs: Number.isNaN(expires) ? Infinity : expires - earlyMs };
  }

  #failure(
    why: string,
    remedy = this.#hint('see what it says when kubectl runs it ("kubectl version")'),
  ): CaiError {
    return this.exec.refusal(`the exec plugin "${this.#command}" gave no credentials, for ${why}: ${remedy}`);
  }

  #hint(otherwise: string): string {
    const hint = this.exec.text('installHint')?.trim();
    return hint === undefined ? otherwise : `${otherwise}. ${hint}`;
  }
}

function isSame(given: Credentials, refused: Credentials | undefined): boolean {
  if (refused === undefined) return false;
  return given.token === refused.token && given.cert === refused.cert;
}
