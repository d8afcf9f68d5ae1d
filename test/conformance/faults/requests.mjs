/** Faults in whose request is whose: ids, answers, cancels, order, and what goes to all agents. */
export const requestFaults = [
  {
    name: "an agent's request keeps its own id towards the editor",
    file: 'src/proxy/agent-requests.ts',
    find: 'text: request.editorId };\n    this.core.toEditor',
    replace: 'text: request.childId };\n    this.core.toEditor',
    breaks: ['J2', 'J3', 'C1'],
  },
  {
    name: 'requests towards the editor are counted by agent',
    file: 'src/relay/request-table.ts',
    find: 'editorId: this.newEditorId() }',
    replace: 'editorId: String(open.size + 1) }',
    breaks: ['J2', 'J4'],
  },
  {
    name: 'an id that the editor has open may be used again',
    file: 'src/relay/request-table.ts',
    find: '    if (this.#ofEditor.has(id)) return undefined;\n',
    replace: '',
    breaks: ['J4'],
  },
  {
    name: 'a request that is over can be answered again',
    file: 'src/relay/request-table.ts',
    find: '    if (this.#ofEditor.get(request.id) !== request) return false;\n',
    replace: '',
    breaks: ['X5'],
  },
  {
    name: "an agent's request that is answered stays open",
    file: 'src/relay/request-table.ts',
    find: '    this.#ofAgents.delete(request.editorId);\n',
    replace: '',
    breaks: ['J6'],
  },
  {
    name: 'the answer to an id that the agent writes otherwise is nobody’s',
    file: 'src/rpc/answer.ts',
    find: 'if (exact !== undefined || byId.size === 0 || !isScalar(id)) return exact;',
    replace: 'if (byId.size >= 0) return exact;',
    breaks: ['J1'],
  },
  {
    name: "an answer carries the agent's spelling of its id",
    file: 'src/relay/core.ts',
    find: '[id, ...this.signInEdits(child, answer)]',
    replace: 'this.signInEdits(child, answer)',
    breaks: ['J1'],
  },
  {
    name: 'a result that is null becomes an empty object',
    file: 'src/relay/core.ts',
    find: '      this.toEditor(child, answer, { map: context.map }, [id, ...this.signInEdits(child, answer)]);\n',
    replace:
      '      const { bodyStart: start, bodyEnd: end } = answer;\n' +
      "      const body = !answer.isError && end - start === 4 ? [{ start, end, text: '{}' }] : [];\n" +
      '      this.toEditor(child, answer, { map: context.map }, [id, ...body]);\n',
    breaks: ['J7'],
  },
  {
    name: "an agent's notification that is refused is answered",
    file: 'src/relay/core.ts',
    find: 'if (message.id !== undefined) child.answer(errorLine(message.id, error));',
    replace: "child.answer(errorLine(message.id ?? 'null', error));",
    breaks: ['J5', 'C6'],
  },
  {
    name: 'a notification of the editor that fails is answered',
    file: 'src/relay/core.ts',
    find: '    if (request === undefined) return;\n    if (!(reason',
    replace:
      "    if (request === undefined) {\n      lane.queue(errorLine('null', rpcErrorOf(reason)));\n      return;\n    }\n    if (!(reason",
    breaks: ['J5', 'P8'],
  },
  {
    name: 'the _meta of session/cancel is dropped',
    file: 'src/relay/core.ts',
    find: "      child.notify(splice(message.line, edits), message.method === 'session/cancel');\n",
    replace:
      '      const params = JSON.stringify({ sessionId: context.session?.agentId });\n' +
      "      if (message.method === 'session/cancel') child.notify(notificationLine(message.method, params), true);\n" +
      '      else child.notify(splice(message.line, edits), false);\n',
    breaks: ['N1', 'P5'],
  },
  {
    name: 'an await before an update is queued',
    file: 'src/proxy/proxy.ts',
    find: '    } else {\n      this.#agentRequests.serve(call);\n    }\n',
    replace:
      '    } else {\n      void Promise.resolve().then(() => this.#agentRequests.serve(call));\n    }\n',
    breaks: ['P1'],
  },
  {
    name: 'the editor cancels a request at an agent under its own id',
    file: 'src/calls/editor-calls.ts',
    find: 'replacing(id, childId)]), true)',
    replace: 'replacing(id, request.id)]), true)',
    breaks: ['X1'],
  },
  {
    name: 'a cancelled request that waits for its agent gets no answer',
    file: 'src/calls/editor-calls.ts',
    find: '      this.core.lane.queue(errorLine(request.id, rpcErrorOf(cancelled())));\n',
    replace: '',
    breaks: ['X5'],
  },
  {
    name: 'a cancelled request that waits for its agent is sent all the same',
    file: 'src/calls/editor-calls.ts',
    find: '    request.isCancelled = true;\n',
    replace: '',
    breaks: ['X5'],
  },
  {
    name: 'a cancel that is a request cancels, and is not answered',
    file: 'src/calls/editor-calls.ts',
    find: 'if (call.request === undefined) this.#cancel',
    replace: 'if (call.message.line.length > 0) this.#cancel',
    breaks: ['J6'],
  },
  {
    name: 'an extension without a target goes to the first agent',
    file: 'src/calls/editor-calls.ts',
    find: 'return usable.length === 1 ? usable[0] : this.children.lastUsed;',
    replace: 'return usable[0];',
    breaks: ['N5'],
  },
  {
    name: 'a notification without a target goes to the first agent alone',
    file: 'src/calls/editor-calls.ts',
    find: 'for (const each of this.children.usable()) this.#send(each, call);',
    replace: 'this.#send(this.children.primary(), call);',
    breaks: ['N4'],
  },
  {
    name: 'an unknown method of an agent is rejected',
    file: 'src/protocol/methods.ts',
    find: "unknownAgentMethod = extension<AgentRoute>('editor'",
    replace: "unknownAgentMethod = extension<AgentRoute>('refuse'",
    breaks: ['N3', 'N5'],
  },
  {
    name: 'a method that acts on files or commands reaches an editor that has not announced it',
    file: 'src/proxy/agent-requests.ts',
    find: 'if (isAnnounced(message.method, this.core.editorCapabilities)) {',
    replace: 'if (message.method.length > 0) {',
    breaks: ['N7'],
  },
  {
    name: 'an unknown method of the editor is for a session only',
    file: 'src/protocol/methods.ts',
    find: "unknownEditorMethod = extension<EditorRoute>('any'",
    replace: "unknownEditorMethod = extension<EditorRoute>('session'",
    breaks: ['N3', 'N4', 'N5'],
  },
  {
    name: 'one agent that accepts a sign-in is enough',
    file: 'src/calls/fan-out.ts',
    find: 'const outcome = refused ?? failed ?? served ?? outcomes[0]!;',
    replace: 'const outcome = served ?? refused ?? failed ?? outcomes[0]!;',
    breaks: ['A1', 'J6'],
  },
  {
    name: 'params that are sent to all agents are written anew',
    file: 'src/calls/fan-out.ts',
    find: 'const params = bodyTextOf(message);',
    replace: "const params = JSON.stringify(JSON.parse(bodyTextOf(message) ?? '{}'));",
    breaks: ['A1'],
  },
  {
    name: 'an agent that is starting is signed in twice',
    file: 'src/relay/child-start.ts',
    find: 'this.#repeats.filter((repeat) => this.repeats.has(repeat))',
    replace: 'this.repeats.all()',
    breaks: ['A2'],
  },
  {
    name: 'session/cancel ends the session',
    file: 'src/calls/editor-calls.ts',
    find: '    else this.core.toAgent(session.child, call, { map: session.map, session });\n',
    replace:
      '    else {\n' +
      '      this.core.toAgent(session.child, call, { map: session.map, session });\n' +
      "      if (message.method === 'session/cancel') this.core.sessions.close(session);\n" +
      '    }\n',
    breaks: ['P7', 'X6'],
  },
  {
    name: 'the proxy adds the root to the params of session/new',
    file: 'src/relay/core.ts',
    find: "    const childId = request.id === 'null'",
    replace:
      '    const root = { start: message.bodyStart + 1, end: message.bodyStart + 1, text: `"root":"${child.root}",` };\n' +
      "    if (message.method === 'session/new') edits.push(root);\n" +
      "    const childId = request.id === 'null'",
    breaks: ['N2', 'S9'],
  },
  {
    name: 'nobody is served while an agent starts',
    file: 'src/proxy/proxy.ts',
    find: 'return this.isGreeting ||',
    replace: "return this.isGreeting || this.#children.all.some(({ state }) => state === 'starting') ||",
    breaks: ['P3'],
  },
];
