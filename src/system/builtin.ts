/**
 * Loads a module of Node now, if it is not yet: for those that few starts need, since what is imported at the
 * head of a file is loaded at each.
 */
export const builtin = process.getBuiltinModule.bind(process);
