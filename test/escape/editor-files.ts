/** The files of an editor, really opened, by a process of the user. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Editor } from '../engine/editor';
import type { Running } from '../engine/running';
import type { Cai } from '../engine/support';
import { Inbox } from '../support/inbox';

const program = readFileSync(resolve(__dirname, '../../fixtures/clients/opens-files.mjs'), 'utf8');

/** From now on this editor serves `fs/*`; returns the process that opens the files. */
export function serveFiles(cai: Cai, editor: Editor): Running {
  const process_ = cai.startProgram(process.execPath, ['--input-type=module', '-e', program]);
  const inbox = new Inbox('files of the editor');
  process_.child.stdout.on('data', (chunk: Buffer) => inbox.push(chunk));
  let lastId = 0;
  for (const method of ['fs/read_text_file', 'fs/write_text_file']) {
    editor.serve(method, async (params) => {
      const id = ++lastId;
      process_.child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
      const { result, error } = await inbox.response(id);
      if (error !== undefined) throw new Error((error as { message: string }).message);
      return result;
    });
  }
  return process_;
}
