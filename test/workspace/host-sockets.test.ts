import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { hostSocketsIn, socketNotice } from '../../src/workspace/host-sockets';
import { newFolder } from '../support/temp-folder';

const describeOnLinux = process.platform === 'linux' ? describe : describe.skip;

let folder: string;

beforeEach(() => {
  folder = newFolder();
  mkdirSync(join(folder, 'deep'));
});

async function listening(path: string) {
  const server = createServer().listen(path);
  await once(server, 'listening');
  return server;
}

describeOnLinux('hostSocketsIn', () => {
  test('finds the sockets of programs below a folder, once each, and no others', async () => {
    const beside = newFolder();
    const servers = [await listening(join(folder, 'deep/a b')), await listening(join(beside, 'other'))];
    const client = createConnection(join(folder, 'deep/a b'));
    await once(client, 'connect');
    writeFileSync(join(folder, 'file'), '');
    symlinkSync(join(beside, 'other'), join(folder, 'link'));

    expect(hostSocketsIn([folder, join(folder, 'deep')])).toEqual([join(folder, 'deep/a b')]);
    // The user has named the socket itself.
    expect(hostSocketsIn([join(beside, 'other')])).toEqual([]);
    client.destroy();
    for (const server of servers) server.close();
  });

  test('finds one that its program has named from its working folder', async () => {
    const script = `require('node:net').createServer().listen('./tool.sock', () => console.log('listens'))`;
    const program = spawn(process.execPath, ['-e', script], { cwd: folder });
    await once(program.stdout, 'data');

    expect(hostSocketsIn([folder])).toEqual([join(folder, 'tool.sock')]);
    program.kill();
    await once(program, 'exit');
  });

  test('finds none where a program has ended', async () => {
    const program = spawn('perl', ['-MSocket', '-e', `socket S, AF_UNIX, SOCK_STREAM, 0; bind S, sockaddr_un('left') or die`], { cwd: folder }); // prettier-ignore
    await once(program, 'exit');

    expect(hostSocketsIn([folder])).toEqual([]);
  });

  test('is said with a few names', async () => {
    expect(socketNotice([folder])).toBeUndefined();
    const servers = await Promise.all([...Array(7).keys()].map((i) => listening(join(folder, String(i)))));

    expect(socketNotice([folder])).toContain(`"${join(folder, '4')}" and 2 more: end them`);
    for (const server of servers) server.close();
  });
});
