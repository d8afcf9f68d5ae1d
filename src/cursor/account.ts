/** What `cursor-agent` says about itself and its user. */
import { messageOf } from '../errors';
import { wantsSignIn } from './failures';
import type { Program, Said } from './program';
import { firstText, shapeOf, type Shape } from './output/shapes';
import { objectIn } from '../system/unless';

export interface Model {
  readonly id: string;
  readonly name: string;
}

/** Asks the program; what does not change while we run is asked once. */
export class Account {
  #models: Promise<Model[]> | undefined;
  #isSignedIn = false;

  /** `cwd`: where short commands run. */
  constructor(
    private readonly program: Program,
    private readonly env: NodeJS.ProcessEnv,
    private readonly cwd: string,
  ) {}

  /** A key in the environment stands for a sign-in. */
  get hasKey(): boolean {
    return firstText(this.env.CURSOR_API_KEY, this.env.CURSOR_AUTH_TOKEN) !== undefined;
  }

  /**
   * False only if the program says that nobody is signed in; for a program that cannot say, a turn will show. Sources of
   * the forms: Cursor's page on authentication; `status --format json` has `isAuthenticated`.
   */
  async isSignedIn(): Promise<boolean> {
    if (this.#isSignedIn || this.hasKey) return true;
    const said = await this.program.ask(['status', '--format', 'json'], this.cwd);
    const { isAuthenticated } = shapeOf(objectIn(said.stdout));
    this.#isSignedIn = isAuthenticated === true;
    const isDenied = isAuthenticated === undefined && wantsSignIn(`${said.stdout}\n${said.words}`);
    return isAuthenticated !== false && !isDenied;
  }

  /** The models of the account; an empty list if the program does not say. Asked again after a failure. */
  async models(): Promise<Model[]> {
    this.#models ??= this.program.ask(['models'], this.cwd).then(({ stdout }) => modelsIn(stdout));
    const models = await this.#models;
    if (models.length === 0) this.#models = undefined;
    return models;
  }

  /** Version, plan and user, as `about` and `status` have them; null: the program does not say. */
  async status(): Promise<Shape> {
    const ask = (command: string) => this.program.ask([command, '--format', 'json'], this.cwd);
    const answers = await Promise.all([ask('about'), ask('status')]);
    const [about, status] = [toldBy(answers[0]), toldBy(answers[1])];
    const { isAuthenticated } = status;
    return {
      isHealthy: answers.every((each) => each.status === 0),
      version: firstText(about.cliVersion, about.version) ?? null,
      isSignedIn: typeof isAuthenticated === 'boolean' ? isAuthenticated : null,
      ...{ about, status, hasKey: this.hasKey },
    };
  }

  /** Runs the sign-in, which opens a browser or names a page. Resolves with what came of it. */
  async signIn(limitMs: number): Promise<Said> {
    return await this.program.ask(['login'], this.cwd, limitMs);
  }

  async signOut(): Promise<Said> {
    this.#isSignedIn = false;
    this.#models = undefined;
    return await this.program.ask(['logout'], this.cwd);
  }
}

/** Lines of the form `id - Name`, among others: `auto - Auto (default)`. */
export function modelsIn(text: string): Model[] {
  const found = text.split('\n').flatMap((line) => {
    const [, id, name] = /^([\w.[\]=,:/-]+) - (\S.*)/.exec(line.trim()) ?? [];
    return id === undefined || name === undefined ? [] : [{ id, name }];
  });
  return [...new Map(found.map((model) => [model.id, model])).values()];
}

function toldBy({ stdout, words, status, startError }: Said): Shape {
  if (startError !== undefined) return { error: `it cannot be started: ${messageOf(startError)}` };
  return objectIn(stdout) ?? { error: words === '' ? `no JSON, exit status ${status ?? 'none'}` : words };
}
