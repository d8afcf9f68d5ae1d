import { version } from '../../package.json';
import { catalog } from '../agent/catalog';

const withoutPackages = Object.entries(catalog)
  .flatMap(([name, { packages }]) => (packages.length === 0 ? [name] : []))
  .join(', ');

const text = `cai - run coding agents in containers, from any ACP editor

For editors:
  cai --acp [agent] [agent args...]   speak ACP on stdin and stdout
  cai acp [agent] [agent args...]     the same
  cai sessions                        list your sessions, open and past
  cai usage                           what turns have cost: tokens, money, time
  cai logs                            what cai has logged in your editors
  cai --acp --record FILE [agent...]  write down all messages, without secrets;
                                      also directly behind the agent's name
  cai replay FILE                     play such a recording to an editor or an agent

In the container of a workspace, made when needed:
  cai exec COMMAND...                 run a command
  cai shell                           open a shell
  cai forward PORT...                 make its ports reachable on 127.0.0.1

What agents have left for your own programs to run:
  cai review                          show it; with --restore put it aside

Signing in, for all workspaces at once:
  cai login AGENT                     by the agent's own command, in a container
  cai logout AGENT                    the same, to sign out

Containers and images:
  cai ps                              list your containers
  cai stop [NAME...]                  stop those of a workspace, or these
  cai rm [NAME...]                    remove them; what agents keep stays
  cai build [AGENT]                   build its image

Help:
  cai doctor                          see what is missing, and what to do
  cai config                          show the configuration in effect
  cai trust                           allow what a repository's configuration asks for
  cai NAME --help                     more about one of these
  cai --help
  cai --version

Agents: ${Object.keys(catalog).join(', ')}; default claude.
  Only in an image that you have installed it into ("dockerfile" below [image]): ${withoutPackages}.
Others, in $XDG_CONFIG_HOME/containai/config.toml (~/.config/containai/config.toml):
  [agents.NAME]
  command = ["program", "argument"]

In a terminal, with arguments for the agent, the agent itself runs there.

Environment:
  CAI_ACP_DIRECT_SPAWN=1       run the agent on this machine, without a container
  CAI_ACP_TEST_MODE=1          any agent name, run exactly as "<name> --acp"
  CAI_ACP_WORKSPACE_MOUNT=DIR  name the workspace DIR towards the agent
  CAI_LOG_LEVEL=LEVEL          silent, error, warn (default), info, debug
  CAI_LOG_FILE=FILE            log there instead of to stderr
`;

/** `cai --help`: writes the help text to stdout; returns the exit status. */
export function run(): number {
  process.stdout.write(text);
  return 0;
}

/** `cai --version`: writes the version to stdout; returns the exit status. */
export function showVersion(): number {
  process.stdout.write(`cai ${version}\n`);
  return 0;
}
