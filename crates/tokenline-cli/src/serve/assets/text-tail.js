// The end of the response's text: what the page shows of it, and no more.

export const TEXT_LIMIT = 64 * 1024;

export class TextTail {
  #pieces = []; // {kind, source, text}
  #length = 0;
  first = 0; // the number of the first piece kept
  total = 0; // characters seen

  push(kind, source, text) {
    if (text === "") return;
    this.total += text.length;
    const kept = text.length > TEXT_LIMIT ? text.slice(-TEXT_LIMIT) : text;
    this.#pieces.push({ kind, source, text: kept });
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
      if (last && last.kind === piece.kind && last.source === piece.source) last.text += piece.text;
      else merged.push({ ...piece });
    }
    return { total: this.total, pieces: merged };
  }

  static from(saved) {
    const tail = new TextTail();
    for (const { kind, source, text } of saved.pieces) tail.push(kind, source, text);
    tail.total = saved.total;
    return tail;
  }
}
