/** Answers of an engine that are not JSON. Source: Docker Engine API, ContainerArchive and ContainerAttach. */

const blockBytes = 512;

/** Content of the first entry of a tar archive; `undefined` if that is no ordinary file. */
export function firstFileOf(tar: Buffer): Buffer | undefined {
  for (let start = 0; start + blockBytes <= tar.length;) {
    const type = String.fromCharCode(tar[start + 156]!);
    const size = parseInt(tar.toString('latin1', start + 124, start + 136), 8);
    const content = start + blockBytes;
    // x and g hold further attributes of what follows, L its long name. Source: POSIX pax, GNU tar.
    if (!'xgL'.includes(type)) return type === '0' ? tar.subarray(content, content + size) : undefined;
    start = content + Math.ceil(size / blockBytes) * blockBytes;
  }
  return undefined;
}

const frameHeaderBytes = 8;

/** The text in frames of standard output and error, each with its length in its header. */
export function textOfFrames(frames: Buffer): string {
  const parts: Buffer[] = [];
  for (let start = 0; start + frameHeaderBytes <= frames.length;) {
    const content = start + frameHeaderBytes;
    start = content + frames.readUInt32BE(start + 4);
    parts.push(frames.subarray(content, start));
  }
  return Buffer.concat(parts).toString();
}
