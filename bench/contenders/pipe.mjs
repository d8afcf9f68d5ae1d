/* The limit for a Node program: nothing but two pipes. Arguments: the agent's command. */
import { spawn } from 'node:child_process';

const [program, ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
process.stdin.pipe(agent.stdin);
agent.stdout.pipe(process.stdout);
