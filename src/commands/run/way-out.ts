/** What a command has besides its container: a way to the network, and the sign-in of its agent. */
import type { Variables } from '../../container/environment';
import type { RunningContainer } from '../../container/provide';
import { runToEnd } from '../../container/ssh/short-command';
import type { SshConnection } from '../../container/ssh/ssh';
import { insideOf, signInOf, SignIns, askOnLink, askOnTerminal, keepDecision } from '../../network';
import { javaVariable, openEgress } from '../../container/egress';
import type { Host } from '../../system/host';
import type { Wanted } from '../containers/target';
import { tell } from '../support/terminal';
import type { Guard } from './guard';

interface WayPlace {
  readonly container: Pick<RunningContainer, 'authority'>;
  readonly connection: SshConnection;
  /** The environment of every command there. */
  readonly base: Variables;
  /** What the user sets for this one. */
  readonly own: Variables;
}

interface WayOut {
  /** All of its environment: also how programs find the proxy, and placeholders of keys and of the sign-in. */
  readonly env: Variables;
  /** Files with placeholders of the sign-in, for `RemoteCommand.files`. */
  readonly files: Readonly<Record<string, string>>;
}

/** The members of `ExecOptions` that matter here. */
interface Choices {
  readonly quiet?: boolean;
  readonly signsInForAll?: boolean;
}

/** Opens the way, unless the container has its own network. Rejects with `SSH_CONNECT`, and with `CONFIG`. */
export async function openWay(
  { config, workspace, settings }: Pick<Wanted, 'config' | 'workspace' | 'settings'>,
  { container, connection, base, own }: WayPlace,
  { host, guard }: { readonly host: Host; readonly guard: Guard },
  { quiet: isQuiet = false, signsInForAll = false }: Choices,
): Promise<WayOut> {
  const plain = [...base, ...own];
  if (settings.hasNetwork) return { env: plain, files: {} };
  const { agent } = settings;
  const root = workspace?.root;
  const onTerminal = () =>
    askOnTerminal({
      stdin: process.stdin,
      stderr: process.stderr,
      output: () =>
        guard.command === undefined
          ? []
          : [
              [guard.command.stdout, process.stdout],
              [guard.command.stderr, process.stderr],
            ],
      input: () => guard.command?.stdin,
      remember: (place) => keepDecision(host.folders.state, root, 'allow', place),
    });
  // Workspaces that share their data share what an agent leaves there anyway.
  const isForAll = signsInForAll || config.agent.data === 'shared';
  const whose = isForAll ? 'all workspaces' : 'this workspace';
  const isTrusted = container.authority !== undefined && container.authority === settings.authority;
  const form = isTrusted ? signInOf(agent, config) : undefined;
  const signIn = form && {
    form,
    kept: new SignIns(host, { agent, workspace: root, isForAll }),
    onSignIn: () =>
      isQuiet || tell(`the sign-in is kept on this machine, outside of the container, for ${whose}`),
  };
  const now = signIn?.kept.outline();
  const { files = {}, variables = {} } = signIn === undefined ? {} : insideOf(signIn.form, now);
  // A user who signs in later, in another terminal, need not start the agent again.
  signIn?.kept.follow(now, (later) => {
    // Files come into the container while the command runs: another command gets them.
    const { files: itsFiles = {} } = insideOf(signIn.form, later);
    runToEnd(connection, ['true'], { env: plain, files: itsFiles }).catch(() => undefined);
  });
  const way = await openEgress(connection, plain, {
    agent,
    workspace: root,
    config,
    host,
    isTrusted,
    signIn,
    ask: guard.link === undefined ? onTerminal() : askOnLink(guard.link),
    onRefusal: (because) => isQuiet || tell(because),
  });
  // Of equal names the last counts: what the user sets, except for Java's options, to which the way has added.
  const set = own.filter(([name]) => name !== javaVariable);
  return { env: [...base, ...way, ...Object.entries(variables), ...set], files };
}
