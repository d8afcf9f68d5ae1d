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

/** A user with a secret. */
let cai: Cai;
/** Where an agent attacks. */
let place: Place;

beforeAll(async () => {
  await provideImages(agent);
  cai = new Cai();
  ownFile(join(cai.home, 'private/secret'), 'SECRET OF THE USER\n');
  place = new Place(cai, newWorkspace(), exec);
}, buildTimeoutMs);

/** An agent runs a script in the container of its workspace. */
async function attacked(script: (root: string) => string): Promise<void> {
  const { status, stderr } = await place.run(['sh', '-ec', script(place.workspace)]);
  if (status !== 0) throw new Error(`in the container: ${stderr}`);
}

/** What a command in the container of another workspace prints of the secret, with another configuration. */
async function secretElsewhere(config: string, script: string): Promise<string | undefined> {
  ownFile(cai.configFile, config);
  const { stdout, stderr } = await new Place(cai, newWorkspace(), exec).run(['sh', '-c', script]);
  cai.configure('');
  if (!stdout.includes('SECRET') && !stderr.includes('leads through')) throw new Error(stderr);
  return stdout.includes('SECRET') ? stdout.toString() : undefined;
}

describe('an agent in one workspace prepares what the configuration of all names there', () => {
  attempt('an agent has another folder mounted by a link in the place of a configured mount', async () => {
    await attacked((root) => `ln -s ${cai.home}/private ${root}/shared`);
    const path = `${place.workspace}/shared`;
    const config = `[[mounts]]\npath = "${path}"\nread_only = true\n`;
    return await secretElsewhere(config, `cat ${path}/secret`);
  });

  attempt('an agent has another folder mounted by a link on the way to a configured mount', async () => {
    await attacked((root) => `ln -s ${cai.home} ${root}/way`);
    const path = `${place.workspace}/way/private`;
    return await secretElsewhere(`[[mounts]]\npath = "${path}"\n`, `cat ${path}/secret`);
  });

  attempt('an agent has a file of the user read as a certificate by a link', async () => {
    await attacked((root) => `ln -s ${cai.home}/private/secret ${root}/ca.pem`);
    const config = `[network]\nca_file = "${place.workspace}/ca.pem"\n`;
    return await secretElsewhere(config, 'grep -rhs SECRET /etc /run/cai /usr/local/share');
  });
});

describe('an agent in one workspace prepares what runs on the host for another', () => {
  let other: Place;
  let count = 0;
  beforeAll(async () => (other = await new Place(cai, newWorkspace(), exec).opened()), buildTimeoutMs);

  /** Has the bridge of another workspace run a program, as for an MCP server of the editor; what then ran. */
  async function ranFor(command: string, PATH?: string): Promise<string | undefined> {
    const socket = `/tmp/host-program-${++count}`;
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
    return new Canary(cai).sung;
  }

  const script = () => `#!/bin/sh\n${new Canary(cai).sh}\n`;
  /** A command inside that writes a program. */
  const program = (path: string, text: string) => `mkdir -p "$(dirname ${path})"; printf '%s' '${text}' > ${path}; chmod 755 ${path}`; // prettier-ignore

  attempt('an agent has a program of its workspace run on the host for another', async () => {
    await attacked((root) => program(`${root}/tool`, script()));
    return await ranFor(`${place.workspace}/tool`);
  });

  attempt('an agent has a program run on the host by a link that a link of the user leads to', async () => {
    await attacked((root) => `${program(`${root}/real`, script())}; ln -s real ${root}/linked`);
    const link = join(cai.home, 'link');
    execFileSync('ln', ['-s', `${place.workspace}/linked`, link]);
    return await ranFor(link);
  });

  attempt('an agent has a program run on the host that PATH finds in its workspace', async () => {
    await attacked((root) => program(`${root}/bin/tool-of-agent`, script()));
    return await ranFor('tool-of-agent', `${place.workspace}/bin:${process.env.PATH}`);
  });

  attempt('an agent has the interpreter of a program of the user run on the host', async () => {
    await attacked((root) => program(`${root}/interpreter`, script()));
    // The interpreter is a script itself, which Linux allows.
    const tool = join(cai.home, 'tool');
    ownFile(tool, `#!${place.workspace}/interpreter\n`);
    execFileSync('chmod', ['755', tool]);
    return await ranFor(tool);
  });

  attempt('an agent has a git of its workspace run on the host, which PATH finds first', async () => {
    await attacked((root) => program(`${root}/first/git`, script()));
    const PATH = `${place.workspace}/first:${process.env.PATH}`;
    const { status, stderr } = await new Place(cai, newWorkspace(), exec).run(['true'], { env: { PATH } });
    if (status !== 0) throw new Error(stderr);
    return new Canary(cai).sung;
  });
});
