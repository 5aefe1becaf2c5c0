// One record as JSON, and its place in the response.

import { number, setText, visible } from "./dom.js";
import { pretty } from "./json.js";

const JSON_LIMIT = 64 * 1024;

export class DetailView {
  #root;
  #show;
  #opener = null;
  #index = null; // of the record that is shown

  /** `show(place)` shows a part of the response's text, and returns whether it is still there. */
  constructor(root, show) {
    this.#root = root;
    this.#show = show;
    root.querySelector("[data-detail='close']").addEventListener("click", () => this.#close());
    root.addEventListener("keydown", ({ key }) => {
      if (key === "Escape") this.#close();
    });
  }

  /** Shows an entry of the log. `opener` gets the focus back. */
  open({ index, raw, length = raw.length, position }, opener) {
    this.#opener?.setAttribute("aria-expanded", "false");
    this.#opener = opener;
    this.#index = index;
    opener.setAttribute("aria-expanded", "true");
    setText(this.#root.querySelector("h2"), `Record ${number(index + 1)}`);
    const more = length > JSON_LIMIT ? `\n\u2026 (${number(length)} characters)` : "";
    setText(this.#root.querySelector("pre"), visible(pretty(raw, JSON_LIMIT)) + more);
    setText(this.#root.querySelector(".place"), this.#placeOf(position));
    this.#root.hidden = false;
    this.#root.focus({ preventScroll: true });
    this.#root.scrollIntoView({ block: "nearest" });
  }

  /** Whether the entry is shown. */
  shows({ index }) {
    return this.#index === index;
  }

  clear() {
    this.#root.hidden = true;
    this.#opener = null;
    this.#index = null;
  }

  #placeOf(position) {
    if (!position) return "";
    const { line, start, end, marks, recovered } = position;
    const place = `ine ${number(line)}, bytes ${number(start)} to ${number(end)} of the response`;
    // What is there in the response is what was rejected.
    const said = [recovered?.includes("reasked") ? `Written again, in place of l${place}` : `L${place}`];
    if (!this.#show(position)) said.push("no longer in the text below");
    said.push(...marks);
    return visible(said.join(" \u00b7 "));
  }

  #close() {
    // Its row may have been drawn anew, or be gone.
    const opener = this.#opener?.isConnected ? this.#opener : document.querySelector('.row-number[aria-expanded="true"]');
    opener?.setAttribute("aria-expanded", "false");
    (opener ?? document.querySelector("#records .pane")).focus();
    this.clear();
  }
}
