/** Attacks on the memory of `cai` by an SSH server of the agent's: it has the host key, and the folder of the socket. */
import { buildSync } from 'esbuild';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai, ownFile } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { saying } from './outside';

/** Of the 512 MiB that are sent: far more than the streams of a command may hold, and than Node has before it collects. */
const maxSentMebibytes = 64;
const maxMemoryMebibytes = 400;
const bySocket = { env: { CAI_WAY_IN: undefined } };

const { outputFiles } = buildSync({
  entryPoints: [resolve(__dirname, '../../fixtures/attacks/sshd.mjs')],
  bundle: true,
  write: false,
  platform: 'node',
  external: ['cpu-features', '*.node'],
});

beforeAll(() => new Place().opened(), buildTimeoutMs);

/** Has the agent's server send to a command whose output nobody reads; returns both, and the MiB that were sent. */
async function flooded(where: string) {
  const place = await new Place().opened();
  ownFile(join(place.workspace, 'sshd.cjs'), outputFiles[0]!.text);
  const sshd = place.start(['node', 'sshd.cjs', where], bySocket);
  await sshd.says('begun');
  const command = place.start(['true'], bySocket);
  command.child.stdout.pause();
  await sshd.says(' MiB');
  const [, sent] = /sent (\d+) MiB/.exec(sshd.stdout.toString())!;
  return { command, sent: Number(sent), end: () => [command, sshd].forEach(({ child }) => child.kill()) };
}

attempt('an agent fills the memory of cai by output of a command that it has no room for', async () => {
  const { command, sent, end } = await flooded('command');
  command.child.stdout.resume();
  const isTold = sent <= maxSentMebibytes && (await command.ends()).stderr.includes('more than it had room');
  end();
  return reachedIf(!isTold, `${sent} MiB; ${command.stderr}`);
});

attempt('an agent fills the memory of cai by a stream of a connection that nobody reads', async () => {
  const { command, sent, end } = await flooded('tunnel');
  const status = sent < 512 ? '' : readFileSync(`/proc/${command.pid}/status`, 'utf8');
  end();
  const [, kibibytes = '0'] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
  return reachedIf(Number(kibibytes) > maxMemoryMebibytes * 1024, `${kibibytes} KiB`);
});

attempt(
  'an agent whose SSH server stands for its container’s reaches a port of the user’s machine that is not allowed',
  async () => {
    const [allowed, other] = [await saying('ALLOWED'), await saying('REACHED')];
    const place = await new Place(new Cai()).opened();
    ownFile(join(place.workspace, 'sshd.cjs'), outputFiles[0]!.text);
    const sshd = place.start(['node', 'sshd.cjs', String(other)], bySocket);
    await sshd.says('begun');
    // The command that is the server would have the port itself.
    place.cai.configure(`host_ports = [${allowed}]\n`);
    const command = place.start(['true'], bySocket);
    await sshd.says('ALLOWED');
    // Each is answered in the order in which it was asked for.
    await sshd.says(`${other} ${allowed}: `);
    [command, sshd].forEach(({ child }) => child.kill());
    const said = sshd.stdout.toString();
    return reachedIf(said.includes('REACHED'), said);
  },
);
