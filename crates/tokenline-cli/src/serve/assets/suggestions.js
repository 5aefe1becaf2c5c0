// What can stand at the caret, as a list beside it. The focus stays in the text: `aria-activedescendant` names the
// option that Enter takes.

import { el, plural, setText } from "./dom.js";
import { complete } from "./completion.js";

const EDGE = 8; // pixels between the list and what surrounds it

export class Suggestions {
  #area;
  #textarea;
  #list;
  #status;
  #kind = () => "schema";
  #found = null; // what `complete` returned, while the list is open
  #active = 0;

  /** `area` is the CodeArea of `textarea`, `kind` says what is written in it. */
  constructor(area, textarea, list, status, kind) {
    this.#area = area;
    this.#textarea = textarea;
    this.#list = list;
    this.#status = status;
    this.#kind = kind;
    textarea.addEventListener("input", (event) => this.#follow(event));
    textarea.addEventListener("blur", () => this.close());
    textarea.addEventListener("click", () => this.close());
    textarea.addEventListener("scroll", () => this.#place());
    // Not `click`: the text would lose the focus before.
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const option = event.target.closest("[role=option]");
      if (option) this.#take([...list.children].indexOf(option));
    });
  }

  get isOpen() {
    return this.#found !== null;
  }

  /** A key in the text. True if it was meant for the list. */
  key(event) {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    if ((event.ctrlKey && event.code === "Space") || (event.altKey && event.key === "ArrowDown")) {
      this.#open(false);
      if (!this.isOpen) setText(this.#status, "No suggestions here.");
      return true;
    }
    if (!this.isOpen || !isPlain) return false;
    const last = this.#found.items.length - 1;
    if (event.key === "ArrowDown") this.#activate(this.#active === last ? 0 : this.#active + 1);
    else if (event.key === "ArrowUp") this.#activate(this.#active === 0 ? last : this.#active - 1);
    else if (event.key === "PageDown") this.#activate(Math.min(last, this.#active + 8));
    else if (event.key === "PageUp") this.#activate(Math.max(0, this.#active - 8));
    else if (event.key === "Enter" || event.key === "Tab") this.#take(this.#active);
    else if (event.key === "Escape") this.close();
    else {
      // The caret leaves the word.
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) this.close();
      return false;
    }
    return true;
  }

  close() {
    if (!this.isOpen) return;
    this.#found = null;
    this.#list.hidden = true;
    this.#list.replaceChildren();
    this.#textarea.removeAttribute("aria-activedescendant");
    setText(this.#status, "");
  }

  // Typing a word opens the list, and all other edits keep it up to date.
  #follow({ inputType = "", data }) {
    const isWord = inputType === "insertText" && data !== null && /^["$\w-]$/.test(data);
    if (isWord || (this.isOpen && inputType.startsWith("delete"))) this.#open(true);
    else this.close();
  }

  #open(needsWord) {
    const { selectionStart, selectionEnd } = this.#textarea;
    const found = selectionStart === selectionEnd ? complete(this.#area.text, selectionStart, this.#kind()) : null;
    if (found === null || (needsWord && found.from === found.to)) return this.close();
    this.#found = found;
    this.#list.replaceChildren(...found.items.map(({ label, detail }, at) => {
      const option = el("li", { role: "option", id: `suggestion-${at}`, "aria-selected": "false" }, el("span", {}, label));
      if (detail) option.append(" ", el("small", {}, detail));
      return option;
    }));
    this.#list.hidden = false;
    this.#activate(0);
    this.#area.showCaret();
    this.#place();
    setText(this.#status, `${plural(found.items.length, "suggestion")}.`);
  }

  #activate(at) {
    this.#list.children[this.#active]?.setAttribute("aria-selected", "false");
    this.#active = at;
    const option = this.#list.children[at];
    option.setAttribute("aria-selected", "true");
    this.#textarea.setAttribute("aria-activedescendant", option.id);
    const { offsetTop: top, offsetHeight: height } = option;
    if (top < this.#list.scrollTop) this.#list.scrollTop = top;
    else if (top + height > this.#list.scrollTop + this.#list.clientHeight) this.#list.scrollTop = top + height - this.#list.clientHeight;
  }

  #take(at) {
    const { from, to, items } = this.#found;
    this.close();
    this.#area.replace(from, to, items[at].text, items[at].caret);
    // A keyword may have a value that can be chosen, too.
    this.#open(true);
  }

  // Below the line of the caret, or above it if there is more room.
  #place() {
    if (!this.isOpen) return;
    const { left, top, height } = this.#area.pointAt(this.#found.from);
    const { offsetLeft, offsetTop, clientWidth, clientHeight } = this.#textarea;
    const { style } = this.#list;
    const below = clientHeight - top - height - EDGE;
    const above = top - EDGE;
    const isAbove = below < this.#list.offsetHeight && above > below;
    style.maxHeight = "";
    style.maxHeight = `${Math.max(80, Math.min(this.#list.offsetHeight, isAbove ? above : below))}px`;
    style.left = `${Math.max(EDGE, offsetLeft + Math.min(left, clientWidth - this.#list.offsetWidth - EDGE))}px`;
    style.top = `${offsetTop + (isAbove ? top - this.#list.offsetHeight : top + height)}px`;
  }
}
