/** Faults in what goes on after the death of an agent, and in terminals and lists, which start containers. */
export const recoveryFaults = [
  {
    name: 'a prompt over which an agent has ended is sent to the next one',
    file: 'src/relay/core.ts',
    find: '        context.onNoResult?.(reason);\n        this.fail(call, reason, child.lane);\n',
    replace:
      '        const again = () => {\n' +
      '          const now = this.sessions.find(session.editorId);\n' +
      '          if (now === undefined || now.isRestoring) setImmediate(again);\n' +
      '          else this.#send(now.child, call, { ...context, session: now });\n' +
      '        };\n' +
      "        if (message.method === 'session/prompt') setImmediate(again);\n" +
      '        context.onNoResult?.(reason);\n' +
      '        this.fail(call, reason, child.lane);\n',
    breaks: ['D9'],
  },
  {
    name: 'what an agent tells of the past while it restores a session is passed on',
    file: 'src/relay/observe-update.ts',
    find: 'if (!ofPresent.has(kind)) return false;',
    replace: '',
    breaks: ['D9'],
  },
  {
    name: 'what an agent tells of the past after its answer is passed on',
    file: 'src/calls/recovery.ts',
    find: 'if (session.isRestoring === true) await replayOver(session, this.options.limitMs);',
    replace: 'session.isRestoring = false;',
    breaks: ['D9'],
  },
  {
    name: 'what is sent for a session that is restored overtakes that',
    file: 'src/calls/editor-calls.ts',
    find: ' || this.#recovery.hold(editorId, call)) return;',
    replace: ') return;',
    breaks: ['D9'],
  },
  {
    name: 'a restored session has the mode that its agent begins with',
    file: 'src/calls/recovery.ts',
    find: 'const settings = this.options.settings.of(lost);',
    replace: 'const settings = [];',
    breaks: ['D9'],
  },
  {
    name: 'the editor is not told that what its agent begins with was set anew',
    file: 'src/calls/restore-setting.ts',
    find: "else tellState(session, answer, log, method === 'session/set_mode' ? params.modeId : undefined);",
    replace: '',
    breaks: ['D9'],
  },
  {
    name: 'agents that die over a session are started for ever',
    file: 'src/child/retry.ts',
    find: 'const isAgain = isRetried && attempt < attempts;',
    replace: 'const isAgain = isRetried;',
    breaks: ['D9'],
  },
  {
    name: 'a list for a folder starts its agent',
    file: 'src/calls/session-list.ts',
    find: 'if (running.length > 0 || this.core.sessions.isKept)',
    replace: 'if (running.length > 0)',
    breaks: ['S12'],
  },
  {
    name: 'a list starts an agent where none runs',
    file: 'src/calls/session-list.ts',
    find: 'return { ...start, children: this.children.usable() };',
    replace: 'return { ...start, children: [this.children.primary()] };',
    breaks: ['S13'],
  },
  {
    name: "the editor runs an agent's command in a terminal",
    file: 'src/terminals/terminals.ts',
    find: 'passOn(editsOfCreate(message, hostCommand(token), folder))',
    replace: 'passOn([])',
    tests: 'test/terminals/terminals.test.ts',
    breaks: ['D8'],
  },
  {
    name: 'the arguments of an agent reach a terminal of the editor',
    file: 'src/terminals/terminal-create.ts',
    find: '    if (field !== undefined) edits.push(replacing(field, text));\n',
    replace: '',
    tests: 'test/terminals/terminals.test.ts',
    breaks: ['D8'],
  },
  {
    name: 'a session may use the terminals of others',
    file: 'src/terminals/terminals.ts',
    find: 'if (terminal?.child !== child || terminal.sessionId !== editorId)',
    replace: 'if (terminal === undefined)',
    tests: 'test/terminals/terminals.test.ts',
    breaks: ['D8'],
  },
  {
    name: 'the terminals of an agent that is gone go on',
    file: 'src/terminals/terminals.ts',
    find: '    this.#end((each) => each.child === child);\n',
    replace: '',
    tests: 'test/terminals/terminals.test.ts',
    breaks: ['D8'],
  },
];
