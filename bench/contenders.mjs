/*
 * What stands between the client and the agent. Each is started with the agent's command and starts it; `cai`
 * finds that command in the configuration of a user of its own.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from './client.mjs';
import { peersFolder } from './peers/install.mjs';

const here = import.meta.dirname;
const node = process.execPath;
const ofFile = (name, ...args) => [node, join(here, 'contenders', name), ...args];

/** Program and first arguments of `cai`; `CAI_BIN` names another build. */
export const cai = [node, process.env.CAI_BIN ?? join(here, '../bin/cai')];

/** Another build, to be compared with `cai` in one run: a path of its `bin/cai`. */
const before = process.env.CAI_BEFORE;

/** The agent's program and arguments. */
export const agentCommand = [node, join(here, 'agent.mjs')];

/** The command of each by name, in the order of the tables. */
export const contenders = {
  direct: () => agentCommand,
  pipe: () => [...ofFile('pipe.mjs'), ...agentCommand],
  // The same once more: how far its ratio is from 1 is the noise of the run.
  again: () => [...ofFile('pipe.mjs'), ...agentCommand],
  json: () => [...ofFile('json-loop.mjs'), ...agentCommand],
  sdk: () => [...ofFile('sdk-bridge.mjs'), ...agentCommand],
  conductor: () => [...ofFile('conductor.mjs', peersFolder()), ...agentCommand],
  cai: () => [...cai, '--acp', 'bench'],
  ...(before !== undefined && { before: () => [node, before, '--acp', 'bench'] }),
};

/** The names of the builds of `cai` that take part. */
export const builds = Object.keys(contenders).filter((name) => name === 'cai' || name === 'before');

/** The agent `bench` in a configuration, TOML. */
export const benchAgent = `[agents.bench]\ncommand = ${JSON.stringify(agentCommand)}\n`;

/** What one run of the benchmark works in: a user with a home folder, and folders that are workspaces. */
export class Place {
  #lastWorkspace = 0;
  #started = [];
  /** Also of a run that is ended in its midst nothing is left. */
  #onExit = () => {
    for (const client of this.#started) void client.kill();
    this.remove();
  };

  /** The configuration is TOML; in it the agent `bench`. */
  constructor(config = benchAgent) {
    /** Real path of the folder that holds everything. */
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'cai-bench-')));
    this.home = join(this.folder, 'home');
    mkdirSync(join(this.home, '.config/containai'), { recursive: true });
    writeFileSync(join(this.home, '.config/containai/config.toml'), config);
    process.on('exit', this.#onExit);
    /** The user's environment: agents are direct children. */
    this.env = { PATH: process.env.PATH, HOME: this.home, CAI_ACP_DIRECT_SPAWN: '1' };
  }

  /** A new folder that is a workspace. */
  workspace() {
    const path = join(this.folder, `workspace-${++this.#lastWorkspace}`);
    mkdirSync(path);
    return path;
  }

  /** Starts a contender in a folder. */
  start(name, cwd) {
    const client = new Client(name, contenders[name](), { cwd, env: this.env });
    this.#started.push(client);
    return client;
  }

  /** Starts a contender, with a session in a workspace; of `cai` the agent runs then. */
  async open(name, cwd = this.workspace()) {
    const client = this.start(name, cwd);
    await initialize(client);
    return { client, sessionId: await newSession(client, cwd) };
  }

  /** Removes all of it. */
  remove() {
    process.off('exit', this.#onExit);
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** What the client says first. */
export const hello = {
  protocolVersion: 1,
  clientInfo: { name: 'bench', version: '1' },
  clientCapabilities: {},
};

/** Sends `initialize`; resolves when it is answered. */
export async function initialize(client) {
  await client.call('initialize', hello);
}

/** Opens a session; resolves with its id. */
export async function newSession(client, cwd) {
  return (await client.call('session/new', { cwd, mcpServers: [] })).sessionId;
}
