// A textarea for code: line numbers that scroll with it, marks at lines, and edits that Ctrl+Z takes back.

import { el, setText } from "./dom.js";

const INDENT = "  ";
// Chromium takes time squared to type lines: 0.1 s for 200, 2 s for 1,000, 35 s for 4,000.
const MAX_TYPED_LINES = 200;
const MAX_STEPS = 20;
const MAX_MEASURED = 2000; // characters before the caret whose width is measured

export class CodeArea {
  #textarea;
  #gutter;
  #rows;
  #starts = [0]; // of the lines
  #marks = new Map(); // line: {severity, message}
  #steps = []; // edits that the browser cannot undo: {before, after}
  #undone = []; // those to do again
  #height = 0;
  #lineHeight = 20;
  #padding = { top: 0, left: 0 };
  #characterWidth = 8;
  #measure = document.createElement("canvas").getContext("2d");

  constructor(textarea, gutter) {
    this.#textarea = textarea;
    this.#gutter = gutter;
    this.#rows = gutter.firstElementChild;
    textarea.addEventListener("scroll", () => this.#draw());
    textarea.addEventListener("input", () => this.#read());
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === textarea) this.#draw();
    });
    new ResizeObserver(() => {
      // A caret that was in sight stays there.
      const { top } = this.pointAt(this.caret);
      const wasInSight = top >= 0 && top < this.#height;
      this.#layout();
      if (wasInSight) this.showCaret();
    }).observe(textarea);
  }

  get text() {
    return this.#textarea.value;
  }

  get caret() {
    return this.#textarea.selectionStart;
  }

  /** Begins anew with a text: nothing of it can be undone. */
  begin(text, caret) {
    this.#textarea.value = text;
    this.#textarea.setSelectionRange(caret, caret);
    this.#marks.clear();
    this.#steps = [];
    this.#undone = [];
    this.#layout();
    this.#read();
    this.showCaret();
  }

  /** Replaces a part of the text, as if it were typed; the caret goes to `caret` characters after `from`. */
  replace(from, to, text, caret = text.length) {
    const area = this.#textarea;
    area.focus();
    area.setSelectionRange(from, to);
    // The only way to edit that the browser can undo.
    const isShort = text.split("\n", MAX_TYPED_LINES + 1).length <= MAX_TYPED_LINES;
    const isTyped = isShort && document.execCommand(text === "" ? "delete" : "insertText", false, text);
    if (!isTyped) {
      const before = this.text;
      const after = before.slice(0, from) + text + before.slice(to);
      this.#steps.push({ before, after });
      if (this.#steps.length > MAX_STEPS) this.#steps.shift();
      this.#undone = [];
      this.#set(after);
    }
    area.setSelectionRange(from + caret, from + caret);
  }

  /** Takes back an edit that the browser cannot. False if the last one was not of that kind. */
  undo() {
    return this.#step(this.#steps, this.#undone, "after", "before");
  }

  redo() {
    return this.#step(this.#undone, this.#steps, "before", "after");
  }

  #step(steps, others, now, then) {
    if (steps.at(-1)?.[now] !== this.text) return false;
    const step = steps.pop();
    others.push(step);
    this.#set(step[then]);
    this.#textarea.setSelectionRange(0, 0);
    this.#reveal(0);
    return true;
  }

  #set(text) {
    this.#textarea.value = text;
    this.#textarea.dispatchEvent(new Event("input"));
  }

  /** Replaces all, and shows the beginning. */
  replaceAll(text) {
    if (text !== this.text) this.replace(0, this.text.length, text, 0);
    this.#textarea.setSelectionRange(0, 0);
    this.#reveal(0);
  }

  /** Marks lines: {line, severity, message}. The first mark of a line counts, unless a later one is an error. */
  mark(faults) {
    this.#marks.clear();
    for (const fault of faults) {
      const mark = this.#marks.get(fault.line);
      if (!mark || (mark.severity !== "error" && fault.severity === "error")) this.#marks.set(fault.line, fault);
    }
    this.#draw();
  }

  /** Moves the caret to a line and column, both from 1. */
  goTo(line, column) {
    const { start, end } = this.#line(Math.min(line, this.#starts.length) - 1);
    const caret = Math.min(start + column - 1, end);
    this.#textarea.focus();
    this.#textarea.setSelectionRange(caret, caret);
    this.#reveal(caret);
  }

  showCaret() {
    this.#reveal(this.caret);
  }

  /** The column, from 1 in UTF-16 units, of a column in UTF-8 bytes. */
  columnOfBytes(line, bytes) {
    const { start, end } = this.#line(Math.min(line, this.#starts.length) - 1);
    const before = this.text.slice(start, Math.min(end, start + bytes - 1));
    if (!/[^\0-\x7f]/.test(before)) return before.length + 1;
    let column = 1;
    let rest = bytes - 1;
    for (const character of before) {
      const code = character.codePointAt(0);
      rest -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      if (rest < 0) break;
      column += character.length;
    }
    return column;
  }

  /** The line and column of the caret, both from 1. */
  get place() {
    const line = this.#lineAt(this.caret);
    return { line: line + 1, column: this.caret - this.#starts[line] + 1 };
  }

  /** Where the character at an offset is, from the corner of the textarea, and how high its line is. */
  pointAt(offset) {
    const line = this.#lineAt(offset);
    return {
      left: this.#left(line, offset) - this.#textarea.scrollLeft,
      top: this.#padding.top + line * this.#lineHeight - this.#textarea.scrollTop,
      height: this.#lineHeight,
    };
  }

  /** A new line with the indentation of this one, deeper after an opening bracket. */
  breakLine() {
    const { selectionStart: from, selectionEnd: to, value } = this.#textarea;
    const { start } = this.#line(this.#lineAt(from));
    const before = value.slice(start, from);
    const indent = /^[ \t]*/.exec(before.slice(0, 1000))[0];
    const opens = /[{[]\s*$/.test(before.slice(-100));
    const closes = /^[ \t]*[}\]]/.test(value.slice(to, to + 100));
    const inner = `\n${indent}${opens ? INDENT : ""}`;
    this.replace(from, to, opens && closes ? `${inner}\n${indent}` : inner, inner.length);
    this.#reveal(from + inner.length);
  }

  /** Types a closing bracket; the first one in its line goes one step to the left. */
  closeBracket(bracket) {
    const { selectionStart: from, selectionEnd: to, value } = this.#textarea;
    const { start } = this.#line(this.#lineAt(from));
    const before = value.slice(start, from);
    const isFirst = before.endsWith(INDENT) && before.length < 1000 && before.trim() === "";
    this.replace(isFirst ? from - INDENT.length : from, to, bracket);
  }

  /** Moves the selected lines one step to the right, or to the left. */
  indent(isLeft) {
    const { selectionStart, selectionEnd } = this.#textarea;
    const first = this.#line(this.#lineAt(selectionStart));
    const last = this.#line(this.#lineAt(Math.max(selectionStart, selectionEnd - 1)));
    const before = this.text.slice(first.start, last.end);
    const after = isLeft ? before.replace(/^ {1,2}|^\t/gm, "") : before.replace(/^(?=[^\n])/gm, INDENT);
    if (after === before) return;
    this.replace(first.start, last.end, after);
    if (selectionStart !== selectionEnd) this.#textarea.setSelectionRange(first.start, first.start + after.length);
  }

  #read() {
    const text = this.text;
    this.#starts = [0];
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#starts.push(at + 1);
    this.#gutter.style.setProperty("--digits", String(Math.max(2, String(this.#starts.length).length)));
    this.#draw();
  }

  #layout() {
    const style = getComputedStyle(this.#textarea);
    this.#height = this.#textarea.clientHeight;
    this.#lineHeight = parseFloat(style.lineHeight) || 20;
    this.#padding = { top: parseFloat(style.paddingTop), left: parseFloat(style.paddingLeft) };
    this.#measure.font = `${style.fontSize} ${style.fontFamily}`;
    this.#characterWidth = this.#measure.measureText("0").width;
    this.#draw();
  }

  // Only the lines in sight have an element.
  #draw() {
    const { scrollTop, clientHeight } = this.#textarea;
    const first = Math.max(0, Math.floor((scrollTop - this.#padding.top) / this.#lineHeight));
    const last = Math.min(this.#starts.length, Math.ceil((scrollTop + clientHeight) / this.#lineHeight));
    while (this.#rows.children.length > Math.max(0, last - first)) this.#rows.lastChild.remove();
    const current = this.#lineAt(this.caret);
    for (let line = first; line < last; line += 1) {
      const row = this.#rows.children[line - first] ?? this.#newRow();
      const mark = this.#marks.get(line + 1);
      setText(row.firstChild, String(line + 1));
      setText(row.lastChild, mark ? `${mark.severity === "warning" ? "Warning" : "Error"} in line ${line + 1}: ${mark.message}` : "");
      row.className = `${mark?.severity ?? ""}${line === current ? " current" : ""}`;
      row.title = mark?.message ?? "";
    }
    this.#gutter.style.height = `${clientHeight}px`;
    this.#rows.style.transform = `translateY(${this.#padding.top + first * this.#lineHeight - scrollTop}px)`;
  }

  #newRow() {
    const row = el("div", {}, el("span", { "aria-hidden": "true" }), el("span", { class: "visually-hidden" }));
    this.#rows.append(row);
    return row;
  }

  #line(line) {
    const next = this.#starts[line + 1];
    return { start: this.#starts[line], end: next === undefined ? this.text.length : next - 1 };
  }

  /** The line of an offset, from 0. */
  #lineAt(offset) {
    let from = 0;
    let to = this.#starts.length;
    while (to - from > 1) {
      const middle = (from + to) >> 1;
      if (this.#starts[middle] <= offset) from = middle;
      else to = middle;
    }
    return from;
  }

  #left(line, offset) {
    const start = this.#starts[line];
    const length = offset - start;
    if (length > MAX_MEASURED) return this.#padding.left + length * this.#characterWidth;
    return this.#padding.left + this.#measure.measureText(this.text.slice(start, offset)).width;
  }

  // The browser itself scrolls to a caret only when something is typed.
  #reveal(offset) {
    const area = this.#textarea;
    const { left, top } = this.pointAt(offset);
    if (top < 0 || top + 2 * this.#lineHeight > area.clientHeight) area.scrollTop += top - area.clientHeight / 3;
    if (left < this.#padding.left || left + 24 > area.clientWidth) {
      const x = left + area.scrollLeft;
      area.scrollLeft = x + 24 < area.clientWidth ? 0 : x - area.clientWidth / 2;
    }
    this.#draw();
  }
}
