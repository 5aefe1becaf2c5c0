// Server-sent events from bytes, which may be cut anywhere.

const MAX_EVENT = 64 * 1024 * 1024;

export class SseDecoder {
  #utf8 = new TextDecoder();
  #parts = []; // of the line that has not ended yet
  #partsLength = 0;
  #id = "";
  #event = "";
  #data = null;

  /** The events that `bytes` complete: {id, event, data}. */
  push(bytes) {
    return this.#text(this.#utf8.decode(bytes, { stream: true }));
  }

  #text(text) {
    const events = [];
    let at = 0;
    for (;;) {
      const end = text.indexOf("\n", at);
      if (end < 0) break;
      let line = text.slice(at, end);
      if (this.#parts.length > 0) {
        this.#parts.push(line);
        line = this.#parts.join("");
        this.#parts = [];
        this.#partsLength = 0;
      }
      at = end + 1;
      const event = this.#line(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event) events.push(event);
    }
    if (at < text.length) {
      this.#parts.push(text.slice(at));
      this.#partsLength += text.length - at;
      if (this.#partsLength > MAX_EVENT) throw new Error("an event is longer than 64 MiB");
    }
    return events;
  }

  #line(line) {
    if (line === "") {
      const event = this.#data === null ? null : { id: Number(this.#id), event: this.#event, data: this.#data };
      this.#event = "";
      this.#data = null;
      return event;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null; // a comment, which keeps the connection alive
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "data") this.#data = this.#data === null ? value : this.#data + "\n" + value;
    else if (name === "event") this.#event = value;
    else if (name === "id") this.#id = value;
    return null;
  }
}
