import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { markedProcesses, markerName, waitForLeftovers } from './leftovers';
import { openOutside, type Outside } from './outside';
import { Program } from './program';
import { patienceMs } from '../support/patience';
import { badLines, readable, readTranscripts, type Transcript } from './transcript';

const repository = resolve(__dirname, '../..');
const fixture = (path: string) => join(repository, 'fixtures', path);

/** With `CAI_PEERS_DIRECT=1` the clients start the agents themselves: the reference to compare with. */
export const isDirect = process.env.CAI_PEERS_DIRECT === '1';

/** How long the proxy has to clear up after its editor is gone. */
const leftoverGraceMs = 10_000;

/** The agents under test: name for `cai --acp`, own command, and where they find the model. */
export const agents = {
  gemini: {
    command: ['gemini', '--acp'],
    env: (model: string) => ({ GEMINI_API_KEY: 'fake-key', GOOGLE_GEMINI_BASE_URL: model }),
  },
  claude: {
    command: ['claude-agent-acp'],
    env: (model: string) => ({
      ANTHROPIC_API_KEY: 'fake-key',
      ANTHROPIC_BASE_URL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }),
  },
  // A stand-in, which needs no model: the client is what is real.
  cursor: {
    command: [join(repository, 'bin/cai-cursor')],
    env: (_model: string, folder: string) => ({
      CURSOR_AGENT_EXECUTABLE: fixture('cursor/cursor-agent'),
      CURSOR_STAND_IN: join(folder, 'cursor'),
    }),
  },
} as const;

/** Name of an agent under test. */
export type AgentName = keyof typeof agents;

/** A private world for one test: home, workspaces, model, environment. */
export class Stage {
  private constructor(
    /** Folder of the installed peers; see fixtures/peers. */
    readonly peers: string,
    /** What a client runs as its agent: a tap in front of the proxy, or of the agent itself. */
    readonly agentCommand: readonly string[],
    /** The whole environment of the client. */
    readonly env: Readonly<Record<string, string>>,
    private readonly folder: string,
    private readonly model: Model,
    private readonly outside: Outside,
  ) {}

  static async open(agent: AgentName): Promise<Stage> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-agents-')));
    for (const name of ['home/.gemini', 'tmp', 'taps']) mkdirSync(join(folder, name), { recursive: true });
    // Its usage statistics go out without end when nothing answers.
    const quiet = { privacy: { usageStatisticsEnabled: false }, general: { enableAutoUpdate: false } };
    writeFileSync(join(folder, 'home/.gemini/settings.json'), JSON.stringify(quiet));
    const peers = execFileSync(process.execPath, [fixture('peers/install.mjs')], { encoding: 'utf8' }).trim();
    const [model, outside] = await Promise.all([startModel(), openOutside()]);
    const env = {
      HOME: join(folder, 'home'),
      TMPDIR: join(folder, 'tmp'),
      PATH: [join(peers, 'node_modules/.bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
      HTTP_PROXY: outside.url,
      HTTPS_PROXY: outside.url,
      NO_PROXY: '127.0.0.1,localhost',
      CAI_ACP_DIRECT_SPAWN: '1',
      CAI_NO_UPDATE_CHECK: '1',
      [markerName]: randomUUID(),
      ...agents[agent].env(model.url, folder),
    };
    const proxy = [process.execPath, join(repository, 'bin/cai'), '--acp', agent];
    const command = isDirect ? agents[agent].command : proxy;
    const tap = [process.execPath, fixture('clients/tap.mjs'), join(folder, 'taps')];
    return new Stage(peers, [...tap, ...command], env, folder, model, outside);
  }

  /** A git repository with one committed file, `note.txt`. */
  addWorkspace(name: string): string {
    const root = join(this.folder, name);
    mkdirSync(root);
    writeFileSync(join(root, 'note.txt'), `on disk in ${name}\n`);
    const git = (...args: string[]) => execFileSync('git', ['-C', root, ...args], { env: this.env });
    git('init', '--quiet');
    git('config', 'user.name', 'Test');
    git('config', 'user.email', 'test@localhost');
    git('add', '.');
    git('commit', '--quiet', '-m', 'start');
    return root;
  }

  /** Starts acpx, the real command line client, in a workspace, with our agent command. */
  acpx(workspace: string, ...args: string[]): Program {
    const agent = this.agentCommand.map((word) => `"${word}"`).join(' ');
    const acpx = join(this.peers, 'node_modules/acpx/dist/cli.js');
    const command = [process.execPath, acpx, '--agent', agent, '--approve-all', '--format', 'json', ...args];
    return new Program('acpx', command, { cwd: workspace, env: this.env });
  }

  /** Starts the client of the official SDK; its only output is a report. */
  sdkClient(workspaceA: string, workspaceB: string): Program {
    const script = fixture('clients/two-workspaces.mjs');
    const command = [process.execPath, script, this.peers, workspaceA, workspaceB, ...this.agentCommand];
    return new Program('SDK client', command, { cwd: this.folder, env: this.env });
  }

  /** Commands of the processes that run for this stage now. */
  running(): string[] {
    return markedProcesses(this.env[markerName] ?? '').map(({ command }) => command);
  }

  /** Waits until nothing runs for this stage any more, as acpx leaves a process behind for a while. */
  async isQuiet(): Promise<void> {
    expect(await waitForLeftovers(this.env[markerName] ?? '', patienceMs)).toEqual([]);
  }

  /** What the taps recorded, one transcript a connection, the oldest first. */
  transcripts(): Transcript[] {
    return readTranscripts(join(this.folder, 'taps'));
  }

  /**
   * Ends the stage, then throws if anything is wrong that no test may leave behind: a process that still
   * runs, a line that is not JSON-RPC, a connection to somewhere else than loopback.
   */
  async close(): Promise<void> {
    const leftovers = await waitForLeftovers(this.env[markerName] ?? '', leftoverGraceMs);
    const transcripts = this.transcripts();
    await this.model.close();
    this.outside.close();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
    if (process.env.CAI_TRANSCRIPT === '1') {
      const title = expect.getState().currentTestName ?? '';
      process.stderr.write(`\n${title}\n${transcripts.map(readable).join('\n')}`);
    }
    expect({ leftovers, badLines: transcripts.flatMap(badLines), outside: this.outside.attempts }).toEqual({
      leftovers: [],
      badLines: [],
      outside: [],
    });
  }
}

interface Model {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts the fake model as a process of its own: it is an ES module, and jest here is not. */
async function startModel(): Promise<Model> {
  const child = spawn(process.execPath, [fixture('fake-model/fake-model.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { port } = JSON.parse(line) as { port: number };
  const close = async () => {
    child.stdin.end();
    await once(child, 'exit');
  };
  return { url: `http://127.0.0.1:${port}`, close };
}
