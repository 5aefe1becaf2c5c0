// The request as it is sent, and the run as a program to copy.

import { choicesOf, curl, extract, python, requestText, rust } from "./code.js";
import { Dialog, button } from "./dialog.js";
import { el, number, setText, visible } from "./dom.js";

const SHOWN = 100_000; // characters; a copy has all

const TABS = [
  { id: "request", title: "Request", write: requestText, hint: "What Extract sends. Keys are shown as their environment variables." },
  { id: "curl", title: "curl", write: curl, hint: "Sends this request, and pipes the response to tokenline parse. Does not ask again." },
  { id: "extract", title: "tokenline extract", write: extract, hint: "Sends this request, and writes each record or call as a line." },
  { id: "python", title: "Python", write: python, hint: "Needs the package: pip install ./python in a clone of tokenline. HTTP is from the standard library." },
  { id: "rust", title: "Rust", write: rust, hint: "Needs tokenline with the features client and schema, tokio, and serde_json." },
];

export class CodeView {
  #dialog;
  #tabs = new Map(); // id: the button
  #selected = TABS[0];
  #texts = {};
  #list = el("div", { class: "tabs", role: "tablist", "aria-label": "Form" });
  #hint = el("p", { class: "hint" });
  #problem = el("p", { class: "empty", role: "status", hidden: "" });
  #code = el("pre", { class: "program", tabindex: "0", role: "region", "aria-label": "Text to copy", translate: "no" });
  #panel;
  #copy;
  #said = el("span", { class: "hint", role: "status" });
  #latest = 0;

  constructor() {
    for (const tab of TABS) {
      const its = el("button", { type: "button", role: "tab", id: `code-tab-${tab.id}`, "aria-controls": "code-panel" }, tab.title);
      its.addEventListener("click", () => this.#select(tab));
      this.#tabs.set(tab.id, its);
      this.#list.append(its);
    }
    this.#list.addEventListener("keydown", (event) => this.#key(event));
    this.#copy = button("Copy", "", () => this.#copyText());
    this.#copy.classList.add("primary");
    const head = el("div", { class: "panel-head" }, this.#hint, el("div", { class: "buttons" }, this.#said, this.#copy));
    this.#panel = el("div", { id: "code-panel", role: "tabpanel" }, head, this.#code);
    this.#dialog = new Dialog("code", "Request and code", this.#list, this.#problem, this.#panel);
  }

  /** Opens with a message instead: there is no request. */
  say(problem) {
    this.#latest += 1;
    this.#say(problem);
    this.#dialog.open();
  }

  /** `body` is what the form sends to the server; `schema` the JSON text of the schema of its prompt, if that has one. */
  async open(body, schema) {
    const own = (this.#latest += 1);
    this.#say("Asking the server\u2026");
    this.#select(TABS[0]);
    this.#dialog.open();
    const { request, error } = await requestOf(body);
    if (own !== this.#latest) return;
    if (error) return this.#say(error);
    const choices = choicesOf(body);
    if (!choices.tools) choices.schema ??= schema;
    this.#texts = Object.fromEntries(TABS.map(({ id, write }) => [id, write(request, choices)]));
    this.#say("");
    this.#select(this.#selected);
  }

  // With a problem, there is nothing to choose from.
  #say(problem) {
    this.#problem.hidden = problem === "";
    this.#list.hidden = problem !== "";
    this.#panel.hidden = problem !== "";
    setText(this.#problem, visible(problem));
  }

  #select(tab) {
    this.#selected = tab;
    for (const [id, its] of this.#tabs) {
      its.ariaSelected = String(id === tab.id);
      its.tabIndex = id === tab.id ? 0 : -1;
    }
    this.#panel.setAttribute("aria-labelledby", `code-tab-${tab.id}`);
    const text = this.#texts[tab.id] ?? "";
    const rest = text.length - SHOWN;
    setText(this.#hint, tab.hint);
    setText(this.#said, "");
    setText(this.#code, visible(text.slice(0, SHOWN)) + (rest > 0 ? `\n\u2026 (${number(rest)} more characters; a copy has them)` : ""));
    this.#code.scrollTop = 0;
  }

  #key(event) {
    const at = TABS.indexOf(this.#selected);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#select(TABS.at(to % TABS.length));
    this.#tabs.get(this.#selected.id).focus();
  }

  async #copyText() {
    const text = this.#texts[this.#selected.id];
    try {
      await navigator.clipboard.writeText(text);
      setText(this.#said, "Copied.");
    } catch {
      // The user copies it: all of it, as it is.
      setText(this.#code, text);
      this.#code.focus();
      getSelection().selectAllChildren(this.#code);
      setText(this.#said, "The browser does not let the page copy. The text is selected: press Ctrl+C.");
    }
  }
}

async function requestOf(body) {
  try {
    const response = await fetch("/api/request", { method: "POST", headers: { "content-type": "application/json" }, body });
    const answer = await response.json();
    if (response.ok) return { request: answer };
    return { error: answer.error ?? `The server responded with status ${response.status}.` };
  } catch (error) {
    return { error: `The server cannot be asked: ${error.message}` };
  }
}
