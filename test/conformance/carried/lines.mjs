/** Bytes to lines, as ACP has them on stdin: ended by LF or CR LF, the last one perhaps by nothing. */
export class Lines {
  #pieces = [];

  /** The lines that end in these bytes, without their ends. */
  *push(chunk) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#pieces.push(chunk.subarray(start, end));
      start = end + 1;
      yield this.rest();
    }
    if (start < chunk.length) this.#pieces.push(chunk.subarray(start));
  }

  /** Takes what has come since the last line end. */
  rest() {
    const line = this.#pieces.length === 1 ? this.#pieces[0] : Buffer.concat(this.#pieces);
    this.#pieces = [];
    return line.at(-1) === 13 ? line.subarray(0, -1) : line;
  }
}
