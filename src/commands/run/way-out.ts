/** What a command has besides its container: a way to the network, and the sign-in of its agent. */
import type { Variables } from '../../container/environment';
import type { RunningContainer } from '../../container/provide';
import type { SshConnection } from '../../container/ssh/ssh';
import { insideOf, signInOf } from '../../credentials/agent-sign-ins';
import { SignIns } from '../../credentials/kept-sign-in';
import { askOnTerminal } from '../../egress/ask';
import { decide } from '../../egress/decisions';
import { openEgress, type WayOut } from '../../egress/egress';
import type { Host } from '../../system/host';
import type { Wanted } from '../containers/target';
import { tell } from '../support/terminal';
import type { Guard } from './guard';

/** Where the command runs. */
interface Place {
  readonly container: Pick<RunningContainer, 'authority'>;
  readonly connection: SshConnection;
  /** The environment that it has anyway. */
  readonly base: Variables;
}

/** Those of `ExecOptions` that matter here. */
interface Choices {
  readonly quiet?: boolean;
  readonly signsInForAll?: boolean;
}

/** Opens the way, unless the container has a network of its own. Rejects with `SSH_CONNECT`, and with `CONFIG`. */
export async function openWay(
  { config, workspace, settings }: Pick<Wanted, 'config' | 'workspace' | 'settings'>,
  { container, connection, base }: Place,
  { host, guard }: { readonly host: Host; readonly guard: Guard },
  { quiet: isQuiet = false, signsInForAll = false }: Choices,
): Promise<WayOut> {
  if (settings.hasNetwork) return { env: [], files: {} };
  const { agent } = settings;
  const root = workspace?.root;
  const onTerminal = () =>
    askOnTerminal({
      stdin: process.stdin,
      stderr: process.stderr,
      input: () => guard.command?.stdin,
      remember: (place) => decide(host.folders.state, root, 'allow', place),
    });
  // Workspaces that share their data share what an agent leaves there anyway.
  const isForAll = signsInForAll || config.agent.data === 'shared';
  const signIns = new SignIns(host, { agent, workspace: root, isForAll });
  const whose = isForAll ? 'all workspaces' : 'this workspace';
  const isTrusted = container.authority !== undefined && container.authority === settings.authority;
  const signIn = isTrusted ? signInOf(agent, config) : undefined;
  // A user who signs in later, in another terminal, need not start the agent again.
  if (signIn !== undefined)
    signIns.follow(() => {
      bring(connection, base, insideOf(signIn, signIns).files).catch(() => undefined);
    });
  return await openEgress(connection, base, {
    agent,
    workspace: root,
    config,
    host,
    isTrusted,
    signIns,
    onSignIn: () =>
      isQuiet || tell(`the sign-in is kept on this machine, outside of the container, for ${whose}`),
    ask: guard.ask ?? onTerminal(),
    onRefusal: (because) => isQuiet || tell(because),
  });
}

/** Puts files into the container while the command runs: another command gets them. */
async function bring(connection: SshConnection, env: Variables, files: WayOut['files'] = {}): Promise<void> {
  const { stdin, stdout, stderr } = await connection.run({ argv: ['true'], cwd: '/', env, files });
  stdin.end();
  stdout.resume();
  stderr.resume();
}
