/** Attacks by an agent in one workspace on what is configured for all, and on what the editor of another names. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { provideImages } from '../engine/model';
import { buildTimeoutMs, Place } from '../engine/place';
import { Cai, newWorkspace, ownFile } from '../engine/support';
import { attempt } from './attempt';
import { Canary } from './canary';
import { agent } from './hostile-agent';

const exec = ['--agent', agent];
const socket = '/tmp/host-program';

beforeAll(() => provideImages(agent), buildTimeoutMs);

/** A user with a secret, and a workspace in whose container an agent has run a script. */
async function attacked(script: (root: string, cai: Cai) => string): Promise<Place> {
  const cai = new Cai();
  ownFile(join(cai.home, 'private/secret'), 'SECRET OF THE USER\n');
  const place = new Place(cai, newWorkspace(), exec);
  const { status, stderr } = await place.run(['sh', '-ec', script(place.workspace, cai)]);
  if (status !== 0) throw new Error(`in the container: ${stderr}`);
  return place;
}

/** What a command in the container of another workspace prints of the secret. */
async function secretElsewhere({ cai }: Place, config: string, script: string): Promise<string | undefined> {
  ownFile(cai.configFile, config);
  const other = new Place(cai, newWorkspace(), exec);
  const { stdout, stderr } = await other.run(['sh', '-c', script]);
  if (!stdout.includes('SECRET') && !stderr.includes('leads through')) throw new Error(stderr);
  return stdout.includes('SECRET') ? stdout.toString() : undefined;
}

describe('an agent in one workspace prepares what the configuration of all names there', () => {
  attempt('an agent has another folder mounted by a link in the place of a configured mount', async () => {
    const place = await attacked((root, { home }) => `ln -s ${home}/private ${root}/shared`);
    const path = `${place.workspace}/shared`;
    const config = `[[mounts]]\npath = "${path}"\nread_only = true\n`;
    return await secretElsewhere(place, config, `cat ${path}/secret`);
  });

  attempt('an agent has another folder mounted by a link on the way to a configured mount', async () => {
    const place = await attacked((root, { home }) => `ln -s ${home} ${root}/way`);
    const path = `${place.workspace}/way/private`;
    return await secretElsewhere(place, `[[mounts]]\npath = "${path}"\n`, `cat ${path}/secret`);
  });

  attempt('an agent has a file of the user read as a certificate by a link', async () => {
    const place = await attacked((root, { home }) => `ln -s ${home}/private/secret ${root}/ca.pem`);
    const config = `[network]\nca_file = "${place.workspace}/ca.pem"\n`;
    return await secretElsewhere(place, config, 'grep -rhs SECRET /etc /run/cai /usr/local/share');
  });
});

describe('an agent in one workspace prepares what runs on the host for another', () => {
  /** Has the bridge of another workspace run a program, as for an MCP server of the editor; what then ran. */
  async function ranFor({ cai }: Place, command: string, PATH?: string): Promise<string | undefined> {
    const canary = new Canary(cai);
    const other = await new Place(cai, newWorkspace(), exec).opened();
    const options = PATH === undefined ? {} : { env: { PATH } };
    const bridge = cai.start(['bridge', '--workspace', other.workspace, ...exec, 'program'], options);
    bridge.child.stdin.write(`${JSON.stringify({ name: 'tool', command, args: [], env: [], socket })}\n`);
    const isServed = await Promise.race([
      bridge.says('"started"').then(() => true),
      bridge.ends().then(({ stdout }) => {
        if (!/agents can change|was not found/.test(stdout.toString())) throw new Error(stdout.toString());
        return false;
      }),
    ]);
    if (isServed) await other.run(['/run/cai/join', socket]);
    bridge.child.stdin.end();
    await bridge.ends();
    return canary.sung;
  }

  const script = (cai: Cai) => `#!/bin/sh\n${new Canary(cai).sh}\n`;
  /** A command inside that writes a program. */
  const program = (path: string, text: string) => `mkdir -p "$(dirname ${path})"; printf '%s' '${text}' > ${path}; chmod 755 ${path}`; // prettier-ignore

  attempt('an agent has a program of its workspace run on the host for another', async () => {
    const place = await attacked((root, cai) => program(`${root}/tool`, script(cai)));
    return await ranFor(place, `${place.workspace}/tool`);
  });

  attempt('an agent has a program run on the host by a link that a link of the user leads to', async () => {
    const place = await attacked((root, cai) => `${program(`${root}/real`, script(cai))}; ln -s real ${root}/tool`); // prettier-ignore
    const link = join(place.cai.home, 'tool');
    execFileSync('ln', ['-s', `${place.workspace}/tool`, link]);
    return await ranFor(place, link);
  });

  attempt('an agent has a program run on the host that PATH finds in its workspace', async () => {
    const place = await attacked((root, cai) => program(`${root}/bin/tool-of-agent`, script(cai)));
    return await ranFor(place, 'tool-of-agent', `${place.workspace}/bin:${process.env.PATH}`);
  });

  attempt('an agent has the interpreter of a program of the user run on the host', async () => {
    const place = await attacked((root, cai) => program(`${root}/interpreter`, script(cai)));
    // The interpreter is a script itself, which Linux allows.
    const tool = join(place.cai.home, 'tool');
    ownFile(tool, `#!${place.workspace}/interpreter\n`);
    execFileSync('chmod', ['755', tool]);
    return await ranFor(place, tool);
  });

  attempt('an agent has a git of its workspace run on the host, which PATH finds first', async () => {
    const place = await attacked((root, cai) => program(`${root}/bin/git`, script(cai)));
    const { cai } = place;
    const PATH = `${place.workspace}/bin:${process.env.PATH}`;
    const { status, stderr } = await new Place(cai, newWorkspace(), exec).run(['true'], { env: { PATH } });
    if (status !== 0) throw new Error(stderr);
    return new Canary(cai).sung;
  });
});
