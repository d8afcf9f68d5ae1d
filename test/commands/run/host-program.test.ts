import { chmodSync, existsSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { Duplex, Readable } from 'node:stream';
import { HostProgram, readOrder } from '../../../src/commands/run/host-program';
import type { SshConnection } from '../../../src/container/ssh/ssh';
import { Host } from '../../../src/system/host';
import { newFolder } from '../../support/temp-folder';

const order = { name: 'tool', command: '/bin/true', args: ['ä€😀'], env: [], socket: '/tmp/socket' };

describe('readOrder', () => {
  test('reads a line in whatever pieces it comes', async () => {
    const bytes = [...Buffer.from(`${JSON.stringify(order)}\n`)].map((byte) => Buffer.of(byte));

    expect(await readOrder(Readable.from(bytes, { objectMode: false }))).toEqual(order);
  });

  test('refuses anything else', async () => {
    const input = Readable.from([Buffer.from('hello\n')], { objectMode: false });

    await expect(readOrder(input)).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('a program of this machine', () => {
  let folder: string;
  let workspace: string;
  let program: HostProgram;
  let notices: string[];
  let connect: (stream: Duplex) => void;

  beforeEach(() => {
    folder = newFolder();
    workspace = newFolder();
    notices = [];
  });
  afterEach(() => program.end(undefined));

  /** Listens as inside a container that has the workspace. */
  async function listen(command: string): Promise<void> {
    program = new HostProgram(
      { ...order, command, args: [] },
      (notice) => notices.push(notice),
      new Host({ ...process.env, HOME: newFolder() }),
    );
    const connection = {
      listen: (_: string, take: (stream: Duplex) => void) => Promise.resolve((connect = take)),
    };
    const binds = [{ source: workspace, target: workspace, isReadOnly: false, identity: '', isRoot: true }];
    await program.listen(connection as unknown as SshConnection, { binds });
  }

  /** A connection from inside that says nothing; resolves when it is over, with all that it was told. */
  async function visit(): Promise<string> {
    let told = '';
    const stream = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _, done) => {
        told += String(chunk);
        done();
      },
      final: (done) => {
        done();
        stream.destroy();
      },
    });
    connect(stream);
    await once(stream, 'close');
    return told;
  }

  function script(file: string, text: string): string {
    writeFileSync(file, `#!/bin/sh\n${text}\n`);
    chmodSync(file, 0o755);
    return file;
  }

  test('is run anew for each connection', async () => {
    await listen(script(join(folder, 'tool'), 'echo "told"'));

    expect([await visit(), await visit()]).toEqual(['told\n', 'told\n']);
  });

  test('is not run any more once agents can change what leads to it', async () => {
    const tool = join(folder, 'tool');
    await listen(script(tool, 'echo "told"'));
    rmSync(tool);
    script(join(workspace, 'evil'), `touch "${folder}/mark"; echo "evil"`);
    symlinkSync(join(workspace, 'evil'), tool);

    expect(await visit()).toBe('');
    expect(existsSync(join(folder, 'mark'))).toBe(false);
    expect(notices).toEqual([expect.stringContaining(`agents can change what lies in ${workspace}`)]);
  });

  test('is not listened for if it is a link in the workspace', async () => {
    symlinkSync(script(join(folder, 'tool'), ''), join(workspace, 'python'));

    await expect(listen(join(workspace, 'python'))).rejects.toMatchObject({ code: 'WORKSPACE' });
  });
});
