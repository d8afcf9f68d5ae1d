/** Faults in initialize and in what each side is told of the other. */
export const initializeFaults = [
  {
    name: 'initialize waits for ever for an agent that cannot be started',
    file: 'src/calls/greeting.ts',
    find: 'onFailure: (failure) => over({ why: loggedFailure(failure) }),',
    replace: 'onFailure: () => undefined,',
    breaks: ['I1'],
  },
  {
    name: "agents are asked for the editor's version",
    file: 'src/profiles/initialize.ts',
    find: "if (kind === 'version') edits.push(replacing(field, String(protocolVersion)));",
    replace: '',
    breaks: ['I2'],
  },
  {
    name: 'an agent of another version is used',
    file: 'src/profiles/initialize.ts',
    find: 'if (result?.protocolVersion !== protocolVersion) {',
    replace: 'if (result === null) {',
    breaks: ['I4'],
  },
  {
    name: 'requests are served before initialize',
    file: 'src/proxy/proxy.ts',
    find: '} else if (this.#greeting.isOver) {',
    replace: "} else if (this.#greeting.isOver || message.kind === 'request') {",
    breaks: ['I5'],
  },
  {
    name: 'agents are told of files that the editor does not offer',
    file: 'src/profiles/initialize.ts',
    find: 'childParams: editedBody(message, edits)',
    replace:
      'childParams: JSON.stringify({ ...JSON.parse(editedBody(message, edits)), clientCapabilities: { fs: { readTextFile: true } } })',
    breaks: ['I6'],
  },
  {
    name: 'initialize is written anew for agents',
    file: 'src/profiles/initialize.ts',
    find: 'childParams: editedBody(message, edits)',
    replace: 'childParams: JSON.stringify(JSON.parse(editedBody(message, edits)))',
    breaks: ['I7'],
  },
  {
    name: 'session/new needs a capability',
    file: 'src/protocol/methods.ts',
    find: "stable('new', fields.sessionSetup, {",
    replace: "stable('new', fields.sessionSetup, { capability: 'sessionCapabilities.new',",
    breaks: ['I8'],
  },
  {
    name: 'prompts need a capability',
    file: 'src/protocol/methods.ts',
    find: "'session/prompt': stable('session', fields.prompt)",
    replace:
      "'session/prompt': stable('session', fields.prompt, { capability: 'promptCapabilities.embeddedContext' })",
    breaks: ['I9'],
  },
  {
    name: "agents are told of the editor's terminals",
    file: 'src/profiles/initialize.ts',
    find: "edits.push(replacing(field, 'false'))",
    replace: "edits.push(replacing(field, 'true'))",
    breaks: ['I10'],
  },
  {
    name: 'an editor that asks for a later version gets an answer that it cannot read',
    file: 'src/profiles/initialize.ts',
    find: 'if (version === undefined || Number(jsonOf(message, version)) <= protocolVersion) return result;',
    replace: 'if (version !== undefined) return result;',
    breaks: ['I2'],
  },
  {
    name: 'initialize can be repeated with another answer',
    file: 'src/calls/greeting.ts',
    find: '    if (this.#result !== undefined) {\n',
    replace: '    if (this.#result === null) {\n',
    breaks: ['I11'],
  },
  {
    name: "the editor is not offered an agent's MCP over ACP",
    file: 'src/profiles/initialize.ts',
    find: 'editorResult: editedBody(answer, edits),',
    replace: `editorResult: editedBody(answer, edits).replace('"acp":true', '"acp":false'),`,
    breaks: ['M2'],
  },
];
