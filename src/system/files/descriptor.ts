/**
 * Files by their descriptors: whoever can rename folders and put links in their places cannot change what is open.
 * Source: proc(5), /proc/PID/fd. Only Linux has it.
 */
import { existsSync, readlinkSync } from 'node:fs';
import { unlessGone } from '../unless';

/** `O_PATH`, which Node does not name: a file as such, which is not opened. Source: Linux, asm-generic/fcntl.h. */
export const pathOnly = 0o10000000;

/** A path that leads to what is open; with a name, to what has that name in the open folder. */
export function placeOf(descriptor: number, name?: string): string {
  const place = `/proc/self/fd/${descriptor}`;
  return name === undefined ? place : `${place}/${name}`;
}

/** The path that an open file has at this moment; `undefined` where the system does not tell it. */
export function pathOfOpen(descriptor: number): string | undefined {
  return unlessGone(() => readlinkSync(placeOf(descriptor)));
}

/** Whether the system has paths for what is open. */
export function hasOpenFiles(): boolean {
  return existsSync('/proc/self/fd');
}
