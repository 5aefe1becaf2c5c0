// The error lane: what was rejected, where, why, and its text on request.

import { clipped, el, number, setText } from "./dom.js";
import { marked } from "./marked.js";

const MAX_FURTHER = 20;

export class RejectedView {
  #root;
  #list;
  #note;
  #next = 0;
  #first = 0;
  #show;

  /** `show(place)` shows a part of the response's text, and returns whether it is still there. */
  constructor(root, show) {
    this.#root = root;
    this.#show = show;
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
      this.#list.prepend(entry(item, this.#show)); // the latest first
      this.#next += 1;
    }
    this.#note.hidden = rejected.dropped === 0;
    setText(this.#note, `${number(rejected.dropped)} earlier ones are not shown.`);
  }
}

// Places are in the text of the response, unless another origin is named: the wire, or the arguments of a call.
function placeOf({ origin, line, column, call }) {
  if (call !== undefined) return `call ${number(call)}`;
  if (line === undefined) return "response";
  const place = `${line}:${column ?? 1}`;
  return origin === undefined || origin === "text" ? place : `${origin} ${place}`;
}

function entry(item, show) {
  const { code, message, instance_path: instance, schema_path: schema, text, marks, further, attempts } = item;
  const short = (value, limit = 300) => clipped(String(value), String(value).length, limit);
  const place = placeOf(item);
  const node = el(
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
  if (rules.children.length > 0) node.append(rules);
  const more = (further ?? []).slice(0, MAX_FURTHER).map(({ message, instance_path: at }) => (at ? `${message} (at ${at})` : message));
  for (const attempt of attempts ?? []) more.push(`Asked again: ${attempt}`);
  if (more.length > 0) node.append(el("ul", { class: "further" }, ...more.map((text) => el("li", { dir: "auto" }, short(text, 1000)))));
  if (typeof text === "string") {
    const summary = el("summary", {}, "Text", el("span", { class: "visually-hidden" }, ` of the rejected record at ${short(place)}`));
    const details = el("details", {}, summary, el("pre", { dir: "auto" }, marked(text, marks ?? [])));
    const span = { source: `${item.choice ?? 0}/${item.block ?? 0}`, start: item.start, end: item.end };
    if (item.call === undefined && (item.origin ?? "text") === "text" && item.end > item.start) {
      details.append(showButton(span, show));
    }
    node.append(details);
  }
  return node;
}

/** A button that shows where a record or a reject stands in the response. */
function showButton(span, show) {
  const button = el("button", { type: "button", class: "quiet show" }, "Show in the response");
  button.addEventListener("click", () => {
    if (!show(span)) setText(button, "No longer in the text below");
  });
  return button;
}
