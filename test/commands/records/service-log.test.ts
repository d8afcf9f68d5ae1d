import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { label } from '../../../src/container/spec/labels';
import { fakeEngine } from '../../container/fake-engine';
import { userWith } from '../../support/cli';
import { runHere } from '../../support/cli-here';
import { newFolder } from '../../support/temp-folder';

/** A frame of a log, as an engine sends it. */
function frame(text: string): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
  header.writeUInt32BE(text.length, 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

/** What `cai logs --service db` says where these agents have such a service in the workspace. */
async function said(agents: readonly string[], ...args: string[]) {
  const workspace = newFolder();
  mkdirSync(join(workspace, '.git'));
  const body = agents.map((agent) => ({
    Id: agent,
    Names: [`/cai-x-${agent}-db`],
    State: 'running',
    Created: 1,
    Labels: {
      [label.service]: 'db',
      [label.workspace]: workspace,
      [label.agent]: agent,
      [label.user]: String(process.getuid!()),
    },
  }));
  const logs = Object.fromEntries(
    agents.map((agent) => [
      `GET /containers/${agent}/logs`,
      (response: { end: (body: Buffer) => void }) => response.end(frame(`of ${agent} \u001b[31m\n`)),
    ]),
  );
  const { address } = await fakeEngine({
    'GET /_ping': { headers: { 'api-version': '1.47' }, body: 'OK' },
    'GET /containers/json': { body },
    ...logs,
  });
  const user = userWith('', { DOCKER_HOST: address.endpoint });
  const { status, stdout, stderr } = await runHere(
    ['logs', '-w', workspace, '--service', 'db', ...args],
    user,
  );
  return { status, stdout, stderr: stderr.replace(workspace, 'WORKSPACE') };
}

describe('cai logs --service', () => {
  test('shows what it has printed, but steers no terminal', async () => {
    expect(await said(['claude'])).toEqual({ status: 0, stdout: 'of claude \ufffd[31m\n', stderr: '' });
  });

  test('says that there is no such service', async () => {
    expect(await said([])).toEqual({
      status: 10,
      stdout: '',
      stderr:
        'cai: there is no service "db" in the workspace "WORKSPACE": it is there once "cai exec" has started it\n',
    });
  });

  test('wants to know the agent where several have it', async () => {
    const both = ['claude', 'gemini'];

    expect(await said(both)).toMatchObject({
      status: 2,
      stderr: 'cai: several agents have a service "db" (claude, gemini): use --agent\n',
    });
    expect(await said(both, '--agent', 'gemini')).toMatchObject({
      status: 0,
      stdout: 'of gemini \ufffd[31m\n',
    });
  });

  test('cannot follow', async () => {
    const { status, stderr } = await said([], '--follow');

    expect(status).toBe(2);
    expect(stderr).toContain("cannot be used with option '-f, --follow'");
  });
});
