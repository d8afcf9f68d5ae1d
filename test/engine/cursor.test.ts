/** Cursor's agent in a container: our adapter there, over the stand-in for Cursor's command line. */
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Editor } from './editor';
import { buildTimeoutMs } from './place';
import { Cai, folder, newWorkspace, ownFile } from './support';

const fixture = resolve(__dirname, '../../fixtures/cursor');
const image = join(folder, 'image');
/** The volume of the agent's data keeps what the stand-in knows of its chats. */
const dockerfile = `ARG CAI_IMAGE
FROM \${CAI_IMAGE}
COPY . /opt/cursor/
RUN chmod +x /opt/cursor/cursor-agent && ln -s /opt/cursor/cursor-agent /usr/local/bin/cursor-agent
ENV CURSOR_STAND_IN=/home/agent/.data/stand-in
`;

beforeAll(() => {
  const names = readdirSync(join(fixture, 'dialogues')).map((name) => join('dialogues', name));
  for (const name of ['cursor-agent', ...names])
    ownFile(join(image, name), readFileSync(join(fixture, name)));
  ownFile(join(image, 'Dockerfile'), dockerfile);
});

test(
  'has turns and tools, ends a turn that is cancelled, and goes on in its chat in a new container',
  async () => {
    const own = `[image]\ndockerfile = ${JSON.stringify(join(image, 'Dockerfile'))}\n`;
    const cai = new Cai(`${own}[agents.cursor]\npackages = []\n`);
    const workspace = newWorkspace();
    const editor = await Editor.open(cai, 'cursor', { cwd: workspace });
    const session = await editor.newSession(workspace);

    expect(await editor.prompt(session, 'one')).toMatchObject({ result: { stopReason: 'end_turn' } });
    expect(editor.said(session)).toContain('Prompt 1 of this chat.');
    await editor.prompt(session, 'play tools');
    const titles = editor.messages.map(({ params }) => (params as Titled | undefined)?.update?.title);
    expect(titles).toContain('npm test');
    const turn = editor.prompt(session, 'wait');
    await editor.hears(session, 'This takes long.');
    editor.notify('session/cancel', { sessionId: session });
    expect(await turn).toMatchObject({ result: { stopReason: 'cancelled' } });

    editor.proxy.child.stdin.end();
    await editor.proxy.ends();
    await cai.run(['rm'], { cwd: workspace });
    const next = await Editor.open(cai, 'cursor', { cwd: workspace });
    await next.request('session/load', { sessionId: session, cwd: workspace, mcpServers: [] });
    await next.prompt(session, 'two');

    expect(next.said(session, 'user_message_chunk')).toContain('one');
    expect(next.said(session)).toContain('Prompt 4 of this chat.');
  },
  buildTimeoutMs,
);

interface Titled {
  readonly update?: { readonly title?: string };
}
