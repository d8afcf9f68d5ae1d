/** What the kernel shows as files and folders: processes, devices and settings. Nobody's project lies there. */
import { statfs } from 'node:fs/promises';
import { resolvePath } from '../real-path';
import { isInside } from './is-inside';

const kernelFolders = ['/proc', '/sys', '/dev'];
/** A part of memory for everybody's files. */
const sharedMemory = '/dev/shm';

/** Types of file systems, wherever they are mounted. Source: linux/magic.h, and statfs(2). */
const kernelTypes: ReadonlySet<number> = new Set([
  0x9fa0, // proc
  0x62656572, // sysfs
  0x1cd1, // devpts
  0x27e0eb, // cgroup
  0x63677270, // cgroup2
  0x64626720, // debugfs
  0x74726163, // tracefs
  0x73636673, // securityfs
  0x62656570, // configfs
  0xcafe4a11, // bpf
  0xde5e81e4, // efivarfs
  0x6165676c, // pstore
  0x19800202, // mqueue
  0x42494e4d, // binfmt_misc
  0x65735543, // fusectl
  0xf97cff8c, // selinux
  0x958458f6, // hugetlbfs
  0x6e736673, // nsfs
]);

/**
 * Why a path is no place for work, as a clause after "because"; `undefined`: neither it nor a link on the way is the
 * kernel's, as `/proc/1/cwd`, which is another folder for each process. `real`: the path without links, which is there.
 */
export async function kernelPlaceOn(path: string, real: string): Promise<string | undefined> {
  const links = path === real ? [] : (await resolvePath(path)).links;
  const place = [...links, real].find(isOfKernel);
  if (place !== undefined) return `${place} is no file of anybody's, but a view of the system`;
  // Signed on some machines.
  const type = (await statfs(real)).type >>> 0;
  return kernelTypes.has(type) ? 'it lies in a file system that is a view of the system' : undefined;
}

function isOfKernel(place: string): boolean {
  return kernelFolders.some((folder) => isInside(place, folder)) && !isInside(place, sharedMemory);
}
