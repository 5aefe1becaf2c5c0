// The response's text as it comes. A line is an element of its own, so that a new token lays out one line, not all.

import { el, following, setText, visible } from "./dom.js";
import { TEXT_LIMIT, byteLength } from "./text-tail.js";

const LINE_LIMIT = 4096;

export class TextView {
  #pane;
  #note;
  #next = 0;
  #length = 0;
  #line = null;
  #source = null;
  #places = new WeakMap(); // of a line of text: {source, start, bytes}
  #shown = []; // the lines that are marked

  constructor(root) {
    this.#pane = root.querySelector(".pane");
    this.#note = root.querySelector(".note");
  }

  clear() {
    this.#next = 0;
    this.#length = 0;
    this.#line = null;
    this.#source = null;
    this.hide();
    this.#pane.replaceChildren();
  }

  draw({ text, isRunning }) {
    this.#pane.classList.toggle("growing", isRunning && text.total > 0);
    this.#note.hidden = !text.isClipped;
    setText(this.#note, "Only the end of the response is shown.");
    if (this.#next === text.next) return;
    const pieces = text.since(this.#next);
    this.#next = text.next;
    following(this.#pane, () => {
      for (const piece of joined(pieces)) this.#add(piece);
      while (this.#length > TEXT_LIMIT && this.#pane.firstChild !== this.#line) {
        this.#length -= this.#pane.firstChild.textContent.length + 1;
        this.#pane.firstChild.remove();
      }
    });
  }

  /** Marks a part of the text, if it is still there, and returns whether it is. Offsets are bytes. */
  show({ source, start, end }) {
    this.hide();
    for (const line of this.#pane.children) {
      const place = this.#places.get(line);
      if (place?.source !== source || place.start >= end) continue;
      const lineEnd = place.start + place.bytes;
      if (lineEnd < start || (place.bytes > 0 && lineEnd === start)) continue;
      this.#shown.push(line);
      line.classList.add("shown");
      this.#highlight(line, start - place.start, end - place.start);
    }
    const [first] = this.#shown;
    if (!first) return false;
    this.#pane.scrollTop = first.offsetTop - this.#pane.offsetTop - this.#pane.clientHeight / 3;
    return true;
  }

  /** Marks nothing. */
  hide() {
    for (const line of this.#shown) line.classList.remove("shown");
    this.#shown = [];
    globalThis.CSS?.highlights?.delete("shown");
  }

  // The exact part of a line, where the browser can. Controls that are shown by name have other lengths.
  #highlight(line, start, end) {
    if (!globalThis.CSS?.highlights || !line.firstChild || line.textContent.includes("\u27e8U+")) return;
    const range = new Range();
    range.setStart(line.firstChild, unitsOf(line.textContent, start));
    range.setEnd(line.firstChild, unitsOf(line.textContent, end));
    const highlight = CSS.highlights.get("shown") ?? new Highlight();
    highlight.add(range);
    CSS.highlights.set("shown", highlight);
  }

  #add({ kind, source, text, start }) {
    if (start === 0) {
      // The block begins again: its text before has no places any more.
      this.#line = null;
      for (const line of this.#pane.children) {
        if (this.#places.get(line)?.source === source) this.#places.delete(line);
      }
    }
    if (this.#source !== `${kind}${source}`) {
      // Another block of the response begins. What it is is said if it is not plain text.
      this.#source = `${kind}${source}`;
      this.#line = null;
      const label = kind === "text" ? (source.startsWith("0/") ? "" : `choice ${source.split("/")[0]}`) : kind;
      if (label) this.#pane.append(el("div", { class: "label" }, label));
    }
    let offset = start;
    const lines = text.split("\n");
    lines.forEach((line, at) => {
      if (at > 0) this.#line = null;
      for (let from = 0, end = 0; from === 0 || from < line.length; from = end) {
        end = from + LINE_LIMIT;
        // Not between the halves of a character.
        if (isHighHalf(line.charCodeAt(end - 1))) end += 1;
        const part = line.slice(from, end);
        const bytes = offset === undefined ? 0 : byteLength(part);
        this.#append(kind, part, { source, start: offset, bytes });
        if (offset !== undefined) offset += bytes;
      }
      if (offset !== undefined) offset += 1;
    });
    this.#length += text.length;
  }

  #append(kind, text, place) {
    if (!this.#line || this.#line.firstChild.length + text.length > 2 * LINE_LIMIT) {
      this.#line = el("div", { class: kind, dir: "auto" }, "");
      this.#line.append(document.createTextNode(""));
      this.#pane.append(this.#line);
      if (place.start !== undefined) this.#places.set(this.#line, place);
    } else if (this.#places.has(this.#line)) {
      this.#places.get(this.#line).bytes += place.bytes;
    }
    if (text !== "") this.#line.firstChild.appendData(visible(text));
  }
}

const isHighHalf = (unit) => unit >= 0xd800 && unit < 0xdc00;

// The index in a text of the byte at an offset.
function unitsOf(text, offset) {
  if (offset <= 0) return 0;
  let [bytes, units] = [0, 0];
  for (const character of text) {
    if (bytes >= offset) break;
    bytes += byteLength(character);
    units += character.length;
  }
  return units;
}

// Neighbours of one source as one piece: a frame appends once.
function joined(pieces) {
  const out = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last && last.kind === piece.kind && last.source === piece.source && piece.start !== 0) last.text += piece.text;
    else out.push({ ...piece });
  }
  return out;
}
