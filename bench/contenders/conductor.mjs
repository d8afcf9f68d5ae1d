/*
 * @thinkwell/conductor between our stdin and stdout and one agent. It is a library without a program: the
 * connection to the editor is made as its own `StdioConnection` to an agent is. Arguments: the folder that its
 * package is installed in, then the agent's command.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [folder, command, ...args] = process.argv.slice(2);
const file = createRequire(join(folder, 'package.json')).resolve('@thinkwell/conductor');
const { Conductor, staticInstantiator } = await import(pathToFileURL(file));

const editor = {
  send: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
  messages: (async function* () {
    for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
      yield JSON.parse(line);
    }
  })(),
  close: () => Promise.resolve(),
};

const conductor = new Conductor({
  instantiator: staticInstantiator({ agent: { command, args } }),
  mcpBridgeMode: 'disabled',
});
await conductor.connect({ connect: () => Promise.resolve(editor) });
process.exit();
