// The error lane: what was rejected, where, why, and its text on request.

import { clipped, el, number, setText } from "./dom.js";

const TEXT_LIMIT = 2048;

export class RejectedView {
  #root;
  #list;
  #note;
  #next = 0;
  #first = 0;

  constructor(root) {
    this.#root = root;
    this.#list = root.querySelector("ol");
    this.#note = root.querySelector(".note");
  }

  clear() {
    this.#next = 0;
    this.#first = 0;
    this.#list.replaceChildren();
  }

  draw({ rejected }) {
    this.#root.hidden = rejected.total === 0;
    if (this.#root.hidden) return;
    for (; this.#first < Math.min(rejected.dropped, this.#next); this.#first += 1) this.#list.lastChild.remove();
    this.#first = Math.max(this.#first, rejected.dropped);
    this.#next = Math.max(this.#next, rejected.dropped);
    for (const item of rejected.items.slice(this.#next - rejected.dropped)) {
      this.#list.prepend(entry(item)); // the latest first
      this.#next += 1;
    }
    this.#note.hidden = rejected.dropped === 0;
    setText(this.#note, `${number(rejected.dropped)} earlier ones are not shown.`);
  }
}

function entry({ code, line, column, message, instance_path: instance, schema_path: schema, text, call }) {
  const short = (value, limit = 300) => clipped(String(value), String(value).length, limit);
  const place = line === undefined ? (call === undefined ? "response" : `call ${number(call)}`) : `${line}:${column ?? 1}`;
  const item = el(
    "li",
    {},
    el("span", { class: "place" }, short(place)),
    el("span", { class: "code" }, short(code)),
    el("span", { class: "reason", dir: "auto" }, short(message ?? "", 1000)),
  );
  const rules = el("dl", { class: "rules" });
  for (const [name, path] of [["at", instance], ["rule", schema]]) {
    if (path !== undefined) rules.append(el("dt", {}, name), el("dd", {}, short(path === "" ? "/" : path)));
  }
  if (rules.children.length > 0) item.append(rules);
  if (typeof text === "string") {
    const summary = el("summary", {}, "Text", el("span", { class: "visually-hidden" }, ` of the rejected record at ${short(place)}`));
    item.append(el("details", {}, summary, el("pre", { dir: "auto" }, clipped(text, text.length, TEXT_LIMIT))));
  }
  return item;
}
