/** Sign-ins that are inside data volumes, where every program of the containers can read them, and how they get out. */
import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { catalog } from '../../agent/catalog';
import { insideOf, signInOf, newSignInId, SignIns, storedIn, withoutTokens } from '../../network';
import { noRights } from '../../container/engine/container-info';
import type { ContainerPlan } from '../../container/engine/engine';
import { label, ownerLabels } from '../../container/spec/labels';
import { dataFolder, mountText } from '../../container/spec/mounts/mounts';
import { isOfOneWorkspace } from '../../container/spec/names';
import { isUp, ownContainers, ownVolumes, type OwnVolume } from '../../container/user-containers';
import { messageOf } from '../../errors';
import { tell } from '../support/terminal';
import { bareContainer } from './cluster';
import { ok, warn, need, type Facts, type Finding } from './checks';

/** Whether sign-ins are inside that could be kept on this machine. */
export async function signIns(facts: Facts): Promise<Finding | undefined> {
  const { client } = need(facts, 'engine');
  const { config, settings } = need(facts, 'configured');
  if (config.network.egress === 'open') return undefined;
  const found: OwnVolume[] = [];
  for (const volume of await ownVolumes(client, settings.hostUser.uid)) {
    const signIn = volume.kind === 'agent' ? signInOf(volume.agent, config) : undefined;
    if (signIn === undefined) continue;
    const isThere = await inVolume(facts, volume, (text) => storedIn(signIn, text) !== undefined);
    if (isThere) found.push(volume);
  }
  facts.signedIn = found;
  if (found.length > 0) {
    const lines = found.map(({ name, agent }) => `${agent} is signed in inside the volume ${name}`);
    const remedy = 'cai doctor in a terminal offers to move it out';
    return warn(lines.join('\n'), remedy);
  }
  const kept = Object.keys(catalog).filter((agent) => {
    const all = new SignIns(facts.host, { agent, workspace: facts.place?.root, isForAll: false });
    return all.outline() !== undefined;
  });
  const detail = `sign-ins of ${kept.join(', ')} are kept on this machine`;
  return ok(kept.length === 0 ? 'nobody has signed in' : detail);
}

/** Asks about each sign-in that was found whether it is to be kept on this machine, and moves it. Tells what fails. */
export async function offerMoves(facts: Facts, ask: (question: string) => Promise<boolean>): Promise<void> {
  for (const volume of facts.signedIn ?? []) {
    const done = offerMove(facts, volume, ask);
    await done.catch((reason: unknown) =>
      tell(`the sign-in stays in the volume ${volume.name}: ${messageOf(reason)}`),
    );
  }
}

async function offerMove(facts: Facts, volume: OwnVolume, ask: (question: string) => Promise<boolean>) {
  const { config } = need(facts, 'configured');
  const { name, agent } = volume;
  const users = await usersOf(facts, volume);
  if (users === undefined) return;
  // The sign-in in the volume of one workspace is for that workspace alone.
  const isForAll = !isOfOneWorkspace(name);
  const [user] = users;
  const unused = `no container uses the volume ${name}`;
  if (!isForAll && user === undefined) {
    tell(`${agent} is signed in inside, and ${unused}: "cai rm --volumes --all --agent ${agent}" removes it`);
    return;
  }
  if (user === undefined && config.agent.data !== 'shared')
    tell(
      `${unused}, which was for all workspaces: agent.data = "shared" uses it and its history again, "cai rm --volumes --all --agent ${agent}" removes it`,
    );
  const known = new SignIns(facts.host, { agent, workspace: user?.workspace, isForAll });
  const before = known.outline();
  const what = `${agent} is signed in inside the volume ${name}, where every program of its containers can read that.`;
  const whose = isForAll ? 'all workspaces' : (user?.workspace ?? 'what runs without a workspace');
  const question =
    before === undefined
      ? `Keep the sign-in on this machine instead, for ${whose}?`
      : `Another sign-in is kept on this machine for ${whose}. Remove the one in the volume, and use that?`;
  // A container may have been started meanwhile.
  if (!(await ask(`${what} ${question}`)) || (await usersOf(facts, volume)) === undefined) return;
  const isMoved = await inVolume(facts, volume, async (text, replace) => {
    const signIn = signInOf(agent, config)!;
    const stored = storedIn(signIn, text);
    if (stored === undefined) return false;
    const now = known.outline();
    if (now?.id !== before?.id) throw new Error('somebody has signed in or out meanwhile: try again');
    const kept = now ?? { id: newSignInId(), generation: 1, ...stored };
    if (now === undefined) await known.own.keep(kept);
    // What containers are given makes the agent renew, which it cannot do without that token.
    const canRenew = kept.tokens.refresh !== undefined;
    const given = canRenew ? insideOf(signIn, kept).files?.[signIn.stored.path] : undefined;
    await replace(withoutTokens(text, stored, kept, given));
    return true;
  });
  tell(
    isMoved
      ? `the sign-in of ${agent} is kept on this machine, and the volume ${name} has placeholders`
      : `nobody is signed in inside the volume ${name} any more`,
  );
}

/** The containers that use a volume; `undefined`, which is told: one of them runs. */
async function usersOf(facts: Facts, { name, agent }: OwnVolume) {
  const own = await ownContainers(need(facts, 'engine').client, facts.host.user.uid);
  const users = own.filter(({ dataVolume }) => dataVolume === name);
  const running = users.find(({ state }) => isUp(state));
  if (running === undefined) return users;
  tell(
    `${agent} is signed in inside the volume ${name}; to move that out, end it first: cai stop ${running.name}`,
  );
  return undefined;
}

/**
 * Works with the file in a volume that can hold a sign-in, by a container that has nothing else and is not started: where
 * links inside lead, nothing else can be read or written.
 */
async function inVolume<T>(
  facts: Facts,
  volume: OwnVolume,
  work: (text: string, replace: (text: string) => Promise<void>) => T | Promise<T>,
): Promise<T> {
  const { client } = need(facts, 'engine');
  const { config } = need(facts, 'configured');
  const { path } = signInOf(volume.agent, config)!.stored;
  const inside = posix.join(dataFolder, path);
  return await client.withVolume(
    `cai-doctor-${randomUUID()}`,
    await idlePlan(facts, volume),
    async (files) => {
      // Engines fail for what an agent can put there, such as links in a circle.
      const file = await files.read(inside).catch(() => undefined);
      return await work(file?.content.toString() ?? '', async (text) => {
        const { mode, uid, gid } = file!;
        await files.put([{ path: inside, is: { file: text }, mode, uid, gid }]);
      });
    },
  );
}

/** Where such a container runs after all, it can read what commands in others have written. */
async function idlePlan(facts: Facts, { name: source, agent }: OwnVolume): Promise<ContainerPlan> {
  const { settings } = need(facts, 'configured');
  const mount = { type: 'volume', source, target: dataFolder, isReadOnly: false };
  const labels = ownerLabels({ ...settings, agent });
  return {
    ...(await bareContainer(facts, '/bin/false')),
    // So that `cai rm` knows one that was left behind, and what it uses.
    labels: {
      ...labels,
      [label.workspace]: '',
      [label.spec]: JSON.stringify({ mounts: [mountText(mount)] }),
    },
    volumeLabels: labels,
    mounts: [mount],
    rights: noRights,
    isTemporary: false,
  };
}
