import { catalog } from '../agent/catalog';

const text = `cai - run coding agents in containers, from any ACP editor

Usage:
  cai --acp [agent] [agent args...]   speak ACP on stdin and stdout; for an editor to start
  cai acp [agent] [agent args...]     the same
  cai --version
  cai --help

Agents: ${Object.keys(catalog).join(', ')}; default claude.
Others, in $XDG_CONFIG_HOME/containai/config.toml (~/.config/containai/config.toml):
  [agents.NAME]
  command = ["program", "argument"]

In a terminal, with arguments for the agent, the agent itself runs there: to sign in, for example.

Environment:
  CAI_ACP_DIRECT_SPAWN=1       run the agent on this machine, without a container
  CAI_ACP_TEST_MODE=1          any agent name, run exactly as "<name> --acp"
  CAI_ACP_WORKSPACE_MOUNT=DIR  name the workspace DIR towards the agent
  CAI_LOG_LEVEL=LEVEL          silent, error, warn (default), info, debug
  CAI_LOG_FILE=FILE            log there instead of to stderr
`;

/** `cai --help`: writes the help text to stdout. */
export function run(): Promise<number> {
  process.stdout.write(text);
  return Promise.resolve(0);
}
