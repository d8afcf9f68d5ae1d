/** The door to `served/client`: what `cai connect` is made of. */
export { accessTo } from './access';
export { readAddress } from './address';
export { EditorConnection } from './editor-connection';
export { Guard } from './guard';
