// The response's text as it comes. A line is an element of its own, so that a new token lays out one line, not all.

import { el, following, setText, visible } from "./dom.js";
import { TEXT_LIMIT } from "./text-tail.js";

const LINE_LIMIT = 4096;

export class TextView {
  #pane;
  #note;
  #next = 0;
  #length = 0;
  #line = null;
  #source = null;

  constructor(root) {
    this.#pane = root.querySelector(".pane");
    this.#note = root.querySelector(".note");
  }

  clear() {
    this.#next = 0;
    this.#length = 0;
    this.#line = null;
    this.#source = null;
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
      for (const { kind, source, text } of joined(pieces)) this.#add(kind, source, text);
      while (this.#length > TEXT_LIMIT && this.#pane.firstChild !== this.#line) {
        this.#length -= this.#pane.firstChild.textContent.length + 1;
        this.#pane.firstChild.remove();
      }
    });
  }

  #add(kind, source, text) {
    if (this.#source !== `${kind}${source}`) {
      // Another block of the response begins. What it is is said if it is not plain text.
      this.#source = `${kind}${source}`;
      this.#line = null;
      const label = kind === "text" ? (source.startsWith("0/") ? "" : `choice ${source.split("/")[0]}`) : kind;
      if (label) this.#pane.append(el("div", { class: "label" }, label));
    }
    const lines = text.split("\n");
    lines.forEach((line, at) => {
      if (at > 0) this.#line = null;
      for (let from = 0; from === 0 || from < line.length; from += LINE_LIMIT) {
        this.#append(kind, line.slice(from, from + LINE_LIMIT));
      }
    });
    this.#length += text.length;
  }

  #append(kind, text) {
    if (!this.#line || this.#line.firstChild.length + text.length > 2 * LINE_LIMIT) {
      this.#line = el("div", { class: kind, dir: "auto" }, "");
      this.#line.append(document.createTextNode(""));
      this.#pane.append(this.#line);
    }
    if (text !== "") this.#line.firstChild.appendData(visible(text));
  }
}

// Neighbours of one source as one piece: a frame appends once.
function joined(pieces) {
  const out = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last && last.kind === piece.kind && last.source === piece.source) last.text += piece.text;
    else out.push({ ...piece });
  }
  return out;
}
