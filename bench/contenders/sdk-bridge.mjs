/* Two message streams of the official SDK, joined. Arguments: the agent's command. */
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { ndJsonStream } from '@agentclientprotocol/sdk';

const [program, ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const editor = ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const child = ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
// The end of a message stream does not end the one below it.
void editor.readable.pipeTo(child.writable).then(() => agent.stdin.end());
await child.readable.pipeTo(editor.writable);
process.exit();
