// A wide editor for the JSON of a small field: a schema, or tool definitions.

import { clipped, el, number, plural, setText, visible } from "./dom.js";
import { CodeArea } from "./code-area.js";
import { inferSchema, inferTools } from "./infer.js";
import { pretty } from "./json.js";
import { Suggestions } from "./suggestions.js";

const CHECK_AFTER = 250; // milliseconds after the last key
const MAX_BYTES = 256 * 1024; // as the server
const MAX_FAULTS = 100;
const MAX_REMARKS = 6; // on what was not uniform
const REMARK_LENGTH = 120;

const KINDS = {
  schema: { title: "JSON Schema of each record", samples: "record", fromSamples: "From these records", infer: inferSchema },
  tools: { title: "Tool definitions, a JSON array", samples: "tool call", fromSamples: "From these calls", infer: inferTools },
};

export class Editor {
  #dialog;
  #samples;
  #area;
  #suggestions;
  #part;
  #field = null; // of the form, while the editor is open
  #kind = "schema";
  #faults = [];
  #timer = 0;
  #request = null; // AbortController of the check under way

  /** `samples(kind)` returns JSON texts to infer from: the records, or the tool calls, of the run. */
  constructor(dialog, samples) {
    this.#dialog = dialog;
    this.#samples = samples;
    const part = (name) => dialog.querySelector(`#editor-${name}`);
    this.#part = {
      title: part("title"), text: part("text"), infer: part("infer"), inferHint: part("infer-hint"), file: part("file"),
      message: part("message"), summary: part("summary"), faults: part("faults"), next: part("next"), place: part("place"),
      actions: part("actions"), ask: part("ask"), keep: part("keep"), status: part("status"),
    };
    this.#area = new CodeArea(this.#part.text, part("gutter"));
    this.#suggestions = new Suggestions(this.#area, this.#part.text, part("suggestions"), this.#part.status, () => this.#kind);

    const onClick = (name, act) => part(name).addEventListener("click", act);
    onClick("infer", () => this.#infer());
    onClick("open", () => this.#part.file.click());
    onClick("format", () => this.#format());
    onClick("next", () => this.#goToFault(1));
    onClick("cancel", () => this.#close());
    onClick("done", () => this.#apply());
    onClick("keep", () => this.#keep());
    onClick("discard", () => this.#close());
    this.#part.file.addEventListener("change", () => {
      this.#read(this.#part.file.files[0]);
      this.#part.file.value = ""; // so that the same file can be chosen again
    });
    this.#part.text.addEventListener("input", () => this.#changed());
    this.#part.text.addEventListener("keydown", (event) => this.#textKey(event));
    dialog.addEventListener("keydown", (event) => this.#key(event));
    // Other ways to close a dialog, such as the Back gesture of a phone.
    dialog.addEventListener("cancel", (event) => {
      if (event.target !== dialog) return; // the choice of a file was cancelled
      event.preventDefault();
      this.#leave();
    });
    dialog.addEventListener("close", () => {
      if (this.#field === null) return;
      if (!this.#hasChanges) return this.#close();
      dialog.showModal();
      this.#leave();
    });
    document.addEventListener("selectionchange", () => this.#showPlace());
    this.#acceptDrops();
    addEventListener("beforeunload", (event) => {
      if (this.#hasChanges) event.preventDefault();
    });
  }

  /** Edits the text of a field. `kind` is "schema" or "tools". */
  open(field, kind) {
    const { title, fromSamples } = KINDS[kind];
    this.#field = field;
    this.#kind = kind;
    setText(this.#part.title, title);
    setText(this.#part.infer, fromSamples);
    setText(this.#part.message, "");
    this.#keep();
    this.#show([], "");
    this.update();
    this.#dialog.showModal();
    this.#area.begin(field.value, field.selectionStart);
    this.#part.text.focus();
    this.#showPlace();
    this.#check();
  }

  /** The run has changed. */
  update() {
    if (this.#field === null) return;
    const hasSamples = this.#samples(this.#kind).length > 0;
    this.#part.infer.ariaDisabled = String(!hasSamples);
    const hint = `No ${KINDS[this.#kind].samples}s yet: run an extraction first.`;
    setText(this.#part.inferHint, hasSamples ? "" : hint);
    this.#part.infer.title = hasSamples ? "" : hint;
  }

  get #hasChanges() {
    return this.#field !== null && this.#area.text !== this.#field.value;
  }

  #apply() {
    const field = this.#field;
    const isChanged = this.#hasChanges;
    field.value = this.#area.text;
    this.#close();
    if (!isChanged) return;
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
    field.dispatchEvent(new FocusEvent("blur")); // the form checks a field when it is left
  }

  #close() {
    this.#field = null;
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#suggestions.close();
    if (this.#dialog.open) this.#dialog.close();
  }

  /** Closes, unless that would lose changes: then it asks. */
  #leave() {
    if (!this.#hasChanges) return this.#close();
    this.#part.actions.hidden = true;
    this.#part.ask.hidden = false;
    this.#part.keep.focus();
  }

  #keep() {
    const hasAsked = !this.#part.ask.hidden;
    this.#part.ask.hidden = true;
    this.#part.actions.hidden = false;
    if (hasAsked) this.#part.text.focus();
  }

  #key(event) {
    if (event.defaultPrevented) return;
    if (event.key === "Escape") {
      // Before the browser: it closes at the second Esc, whatever a page says to it.
      event.preventDefault();
      if (this.#part.ask.hidden) this.#leave();
      else this.#keep();
    } else if (event.key === "F8") {
      event.preventDefault();
      this.#goToFault(event.shiftKey ? -1 : 1);
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.#apply();
    }
  }

  #textKey(event) {
    if (event.isComposing) return;
    if (this.#suggestions.key(event) || this.#edit(event)) event.preventDefault();
  }

  /** True if the key was an edit of the area. */
  #edit({ key, code, ctrlKey, metaKey, altKey, shiftKey }) {
    const area = this.#area;
    const isPlain = !ctrlKey && !metaKey;
    if (isPlain && key === "Enter" && !altKey) area.breakLine();
    else if (isPlain && (key === "}" || key === "]")) area.closeBracket(key);
    else if (ctrlKey && !altKey && code === "BracketRight") area.indent(false);
    else if (ctrlKey && !altKey && code === "BracketLeft") area.indent(true);
    else if (isPlain || altKey) return false;
    else if (key.toLowerCase() === "z") return shiftKey ? area.redo() : area.undo();
    else return key.toLowerCase() === "y" && area.redo();
    return true;
  }

  #changed() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    this.#timer = setTimeout(() => this.#check(), CHECK_AFTER);
    this.#part.summary.ariaBusy = "true";
    setText(this.#part.message, "");
  }

  #showPlace() {
    if (this.#field === null) return;
    const { line, column } = this.#area.place;
    setText(this.#part.place, `Line ${number(line)}, column ${number(column)}`);
  }

  async #check() {
    const { text } = this.#area;
    if (text.trim() === "") return this.#show([], "Nothing written yet.");
    const excess = tooLarge(text);
    if (excess) return this.#show([], excess);
    const request = new AbortController();
    this.#request = request;
    let faults = [];
    let summary = "";
    try {
      const response = await fetch("/api/check", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ kind: this.#kind, text }),
        signal: request.signal,
      });
      const body = await response.json();
      if (!response.ok) throw new Error(body.error);
      // The server counts columns in bytes.
      faults = body.faults.map((fault) => ({ ...fault, column: this.#area.columnOfBytes(fault.line, fault.column) }));
      faults.sort((one, other) => one.line - other.line || one.column - other.column);
      summary = summaryOf(faults);
    } catch (error) {
      summary = `Not checked: ${error.message}`;
    }
    if (!request.signal.aborted && this.#field !== null) this.#show(faults, summary);
  }

  #show(faults, summary) {
    this.#faults = faults;
    this.#area.mark(faults);
    setText(this.#part.summary, summary);
    this.#part.summary.ariaBusy = "false";
    this.#part.next.ariaDisabled = String(faults.length === 0);
    if (faults.some(({ severity }) => severity !== "warning")) this.#part.text.setAttribute("aria-invalid", "true");
    else this.#part.text.removeAttribute("aria-invalid");
    this.#part.faults.hidden = faults.length === 0;
    this.#part.faults.replaceChildren(...faults.slice(0, MAX_FAULTS).map((fault, at) => {
      const { line, column, message, severity } = fault;
      const place = el("span", { class: "fault-place" }, `${line}:${column}`);
      const button = el("button", { type: "button", class: `fault ${severity}` }, place, " ", el("span", {}, visible(message)));
      if (severity === "warning") button.lastChild.prepend(el("b", {}, "Warning: "));
      button.addEventListener("click", () => {
        this.#area.goTo(line, column);
        this.#showCurrent(at);
      });
      return el("li", {}, button);
    }));
  }

  // The next fault after the caret, or before it. After the last comes the first.
  #goToFault(step) {
    if (this.#faults.length === 0) return;
    const place = this.#area.place;
    const distance = ({ line, column }) => step * (line - place.line || column - place.column);
    const inOrder = this.#faults.toSorted((one, other) => distance(one) - distance(other));
    const fault = inOrder.find((its) => distance(its) > 0) ?? inOrder[0];
    const { line, column, message } = fault;
    this.#area.goTo(line, column);
    this.#showCurrent(this.#faults.indexOf(fault));
    // The focus is in the text, so what is wrong there is said.
    setText(this.#part.status, `Line ${line}, column ${column}: ${message}`);
  }

  #showCurrent(at) {
    for (const [its, item] of [...this.#part.faults.children].entries()) {
      const button = item.firstChild;
      if (its !== at) button.removeAttribute("aria-current");
      else button.setAttribute("aria-current", "true");
      if (its === at) button.scrollIntoView({ block: "nearest" });
    }
  }

  #replace(text, message) {
    const excess = tooLarge(text);
    if (excess) return setText(this.#part.message, excess);
    this.#area.replaceAll(text);
    setText(this.#part.message, message);
  }

  #format() {
    const { text } = this.#area;
    try {
      JSON.parse(text);
    } catch {
      setText(this.#part.message, "Only valid JSON can be formatted.");
      return;
    }
    // By its text: number literals stay as they are.
    this.#replace(pretty(text, Infinity), "");
  }

  #infer() {
    const { infer, samples } = KINDS[this.#kind];
    const texts = this.#samples(this.#kind);
    if (texts.length === 0) return setText(this.#part.message, `No ${samples}s yet: run an extraction first.`);
    const { text, remarks } = infer(texts);
    const about = `What ${plural(texts.length, samples)} ${texts.length === 1 ? "has" : "have in common"}. Undo takes it back.`;
    this.#replace(text, about + notUniform(remarks));
  }

  async #read(file) {
    if (!file) return;
    if (file.size > MAX_BYTES) return setText(this.#part.message, `${visible(file.name)} is too large: ${kibibytes(file.size)} of at most 256 KiB.`);
    try {
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
      if (this.#field !== null) this.#replace(text.replace(/\r\n?/g, "\n"), `${visible(file.name)} is open. Undo takes it back.`);
    } catch (error) {
      setText(this.#part.message, `${visible(file.name)} cannot be read: ${error instanceof TypeError ? "it is not UTF-8 text" : error.message}.`);
    }
  }

  #acceptDrops() {
    const hasFile = (event) => event.dataTransfer?.types.includes("Files");
    const mark = (isOver) => this.#dialog.classList.toggle("dropping", isOver);
    this.#dialog.addEventListener("dragover", (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      mark(true);
    });
    this.#dialog.addEventListener("dragleave", (event) => {
      if (!this.#dialog.contains(event.relatedTarget)) mark(false);
    });
    this.#dialog.addEventListener("drop", (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      mark(false);
      this.#read(event.dataTransfer.files[0]);
    });
  }
}

function summaryOf(faults) {
  if (faults.length === 0) return "No faults.";
  const warnings = faults.filter(({ severity }) => severity === "warning").length;
  const errors = faults.length - warnings;
  const parts = [];
  if (errors > 0) parts.push(plural(errors, "fault"));
  if (warnings > 0) parts.push(plural(warnings, "warning"));
  const more = faults.length > MAX_FAULTS ? ` The first ${MAX_FAULTS} are listed.` : "";
  return `${parts.join(", ")}.${more}`;
}

/** Remarks on values that differ in kind, for people. */
function notUniform(remarks) {
  if (remarks.length === 0) return "";
  const shown = remarks.slice(0, MAX_REMARKS).map((remark) => clipped(remark, remark.length, REMARK_LENGTH));
  const more = remarks.length - shown.length;
  return ` Not uniform: ${shown.join("; ")}${more > 0 ? `; ${number(more)} more` : ""}.`;
}

const kibibytes = (bytes) => `${number(Math.ceil(bytes / 1024))} KiB`;

/** Why the server would not take a text; empty if it would. */
function tooLarge(text) {
  // A character has at most three bytes.
  const bytes = 3 * text.length > MAX_BYTES ? new TextEncoder().encode(text).length : 0;
  return bytes > MAX_BYTES ? `Too large: ${kibibytes(bytes)} of at most 256 KiB.` : "";
}
