// The end of the response's text: what the page shows of it, and no more.

export const TEXT_LIMIT = 64 * 1024;

const encoder = new TextEncoder();
/** The length of a text in UTF-8. */
export const byteLength = (text) => encoder.encode(text).length;

export class TextTail {
  #pieces = []; // {kind, source, text, start}: the offset in the text of its source, in bytes
  #length = 0;
  first = 0; // the number of the first piece kept
  total = 0; // characters seen

  push(kind, source, text, start) {
    if (text === "") return;
    this.total += text.length;
    const skipped = Math.max(0, text.length - TEXT_LIMIT);
    const kept = text.slice(skipped);
    const from = skipped === 0 || start === undefined ? start : start + byteLength(text.slice(0, skipped));
    this.#pieces.push({ kind, source, text: kept, start: from });
    this.#length += kept.length;
    let dropped = 0;
    while (this.#length > TEXT_LIMIT) {
      this.#length -= this.#pieces[dropped].text.length;
      this.#pieces[dropped] = undefined;
      dropped += 1;
      this.first += 1;
    }
    if (dropped > 0) this.#pieces.splice(0, dropped);
  }

  get next() {
    return this.first + this.#pieces.length;
  }

  get isClipped() {
    return this.total > this.#length;
  }

  /** The pieces from number `from` on. */
  since(from) {
    return this.#pieces.slice(Math.max(0, from - this.first));
  }

  toJSON() {
    const merged = [];
    for (const piece of this.#pieces) {
      const last = merged.at(-1);
      // A block may begin again, with another text.
      if (last && last.kind === piece.kind && last.source === piece.source && piece.start !== 0) last.text += piece.text;
      else merged.push({ ...piece });
    }
    return { total: this.total, pieces: merged };
  }

  static from(saved) {
    const tail = new TextTail();
    for (const { kind, source, text, start } of saved.pieces) tail.push(kind, source, text, start);
    tail.total = saved.total;
    return tail;
  }
}
