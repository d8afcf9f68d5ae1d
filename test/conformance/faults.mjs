/**
 * Faults to be seeded into the proxy, one at a time: in `file`, `find` (which stands there once) becomes
 * `replace`, and at least one test of the statements in `breaks` has to fail.
 */
export const faults = [
  {
    name: "a child's request keeps its own id towards the editor",
    file: 'src/acp/agent-requests.ts',
    find: 'text: request.editorId };\n    this.core.toEditor',
    replace: 'text: request.childId };\n    this.core.toEditor',
    breaks: ['J2', 'J3'],
  },
];
