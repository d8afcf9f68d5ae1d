/* What one writes first: each line is parsed and written again. Arguments: the agent's command. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [program, ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });

function forward(input, output) {
  const lines = createInterface({ input, crlfDelay: Infinity });
  lines.on('line', (line) => {
    if (!output.write(`${JSON.stringify(JSON.parse(line))}\n`)) lines.pause();
  });
  output.on('drain', () => lines.resume());
  lines.on('close', () => output.end());
}

forward(process.stdin, agent.stdin);
forward(agent.stdout, process.stdout);
