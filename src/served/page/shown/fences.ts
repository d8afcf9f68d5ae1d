/** Finds code fences in a text that comes in pieces, each as soon as it can be shown. */

/** A part of the text, all of one kind. */
export interface Piece {
  /** Whether it stands between fences. */
  readonly isCode: boolean;
  /** It goes on where the last piece ended, unless a fence stands between them. */
  readonly isNew: boolean;
  /** What stands behind the fence that begins it. */
  readonly language: string;
  /** Never empty. */
  readonly text: string;
}

/** What may still become a fence when more of the line comes. */
const perhapsFence = /^ {0,3}(?:`{0,2}$|`{3})/;
const fence = /^ {0,3}(`{3,})([^`\n]*)$/;
/** A line that is longer is no fence. */
const maxFenceLength = 200;

export class FenceReader {
  /** The beginning of a line that may become a fence. */
  #held = '';
  #isAtLineStart = true;
  /** The backticks that have begun the code. */
  #open: string | undefined;
  #language = '';
  #isNew = true;

  push(text: string): readonly Piece[] {
    const pieces: Piece[] = [];
    let plain = '';
    let rest = this.#held + text;
    this.#held = '';
    while (rest !== '') {
      const end = rest.indexOf('\n');
      const line = end < 0 ? rest : rest.slice(0, end);
      if (this.#isAtLineStart && line.length <= maxFenceLength && perhapsFence.test(line)) {
        if (end < 0) {
          this.#held = rest;
          break;
        }
        if (this.#isFence(line)) {
          this.#flush(pieces, plain);
          plain = '';
          this.#toggle(line);
          rest = rest.slice(end + 1);
          continue;
        }
      }
      plain += end < 0 ? line : `${line}\n`;
      this.#isAtLineStart = end >= 0;
      rest = end < 0 ? '' : rest.slice(end + 1);
    }
    this.#flush(pieces, plain);
    return pieces;
  }

  end(): readonly Piece[] {
    const held = this.#held;
    this.#held = '';
    const pieces: Piece[] = [];
    if (!this.#isFence(held)) this.#flush(pieces, held);
    return pieces;
  }

  #isFence(line: string): boolean {
    const [, ticks, language = ''] = fence.exec(line) ?? [];
    if (ticks === undefined || this.#open === undefined) return ticks !== undefined;
    return ticks.length >= this.#open.length && language.trim() === '';
  }

  #toggle(line: string): void {
    const [, ticks, language = ''] = fence.exec(line)!;
    this.#open = this.#open === undefined ? ticks : undefined;
    this.#language = language.trim();
    this.#isNew = true;
    this.#isAtLineStart = true;
  }

  #flush(pieces: Piece[], text: string): void {
    if (text === '') return;
    pieces.push({ isCode: this.#open !== undefined, isNew: this.#isNew, language: this.#language, text });
    this.#isNew = false;
  }
}
