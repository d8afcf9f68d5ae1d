/** Faults in signing in and out. */
export const signInFaults = [
  {
    name: 'only the first agent is signed in at',
    file: 'src/calls/fan-out.ts',
    find: 'this.children.usable().length > 0 ? this.children.usable() : [this.children.primary()]',
    replace: '[this.children.primary()]',
    breaks: ['A1'],
  },
  {
    name: 'a sign-in is not repeated to later agents',
    file: 'src/calls/fan-out.ts',
    find: "if (row.repeat === 'keep') this.children.repeats.remember(repeat);",
    replace: '',
    breaks: ['A2'],
  },
  {
    name: "an agent's error becomes one of the proxy's",
    file: 'src/relay/core.ts',
    find: '    if (!answer.isError) context.onResult?.(answer);\n',
    replace:
      "    if (answer.isError) this.fail(call, new CaiError('AGENT_ANSWER', 'the agent refused'));\n" +
      '    else context.onResult?.(answer);\n',
    breaks: ['A3', 'J8', 'N3'],
  },
  {
    name: 'sign-in methods that run in a terminal are offered',
    file: 'src/sign-in/sign-in.ts',
    find: 'if (token === undefined && run === undefined) return undefined;',
    replace: 'if (token === undefined && run === undefined) return text;',
    breaks: ['A4'],
  },
  {
    name: 'the status of an interactive agent is lost',
    file: 'src/commands/acp/agent-on-terminal.ts',
    find: 'return signal === null ? (code ?? 0)',
    replace: 'return signal === null ? 0',
    breaks: ['A5'],
  },
  {
    name: 'commands for the host stay in sign-in methods',
    file: 'src/sign-in/sign-in.ts',
    find: "if (!isTerminal && !Object.hasOwn(meta, 'terminal-auth')) {",
    replace: "if (!isTerminal && meta['terminal-auth'] !== null) {",
    breaks: ['A7'],
  },
  {
    name: 'sign-in methods are written anew',
    file: 'src/sign-in/sign-in.ts',
    find: "`[${kept.join(',')}]`",
    replace: 'JSON.stringify(kept.map((each) => JSON.parse(each)))',
    breaks: ['A8'],
  },
  {
    name: 'a logout leaves sign-ins to be repeated',
    file: 'src/calls/fan-out.ts',
    find: "row.repeat === 'clear' ? this.children.repeats.forgetAll() : []",
    replace: "row.repeat === 'clear' ? [] : []",
    breaks: ['A9'],
  },
  {
    name: 'an unchanged sign-in state is told again',
    file: 'src/proxy/agent-requests.ts',
    find: '|| status === this.#lastStatus.get(message.method)',
    replace: '',
    breaks: ['A10'],
  },
];
