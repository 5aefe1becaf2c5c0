// Tool calls as cards whose arguments grow.

import { clipped, el, following, number, setText, visible } from "./dom.js";
import { pretty } from "./json.js";

const ARGUMENTS_LIMIT = 4000;
const WORDS = { open: "being written", complete: "complete", rejected: "rejected", incomplete: "incomplete" };

export class CallsView {
  #root;
  #list;
  #note;
  #empty;
  #cards = new Map(); // by call

  constructor(root) {
    this.#root = root;
    this.#list = root.querySelector("ol");
    this.#note = root.querySelector(".note");
    this.#empty = root.querySelector(".empty");
  }

  clear() {
    this.#cards = new Map();
    this.#list.replaceChildren();
  }

  draw({ calls, kind }) {
    this.#root.hidden = kind !== "tool_calls" && calls.total === 0;
    if (this.#root.hidden) return;
    following(this.#list, () => {
      for (const call of calls.items) this.#draw(call);
      const shown = new Set(calls.items);
      for (const [call, card] of this.#cards) {
        if (shown.has(call)) continue;
        card.root.remove();
        this.#cards.delete(call);
      }
    });
    this.#empty.hidden = this.#list.children.length > 0;
    this.#note.hidden = calls.dropped === 0;
    setText(this.#note, `${number(calls.dropped)} earlier calls are not shown. The download has all of them.`);
  }

  #draw(call) {
    let card = this.#cards.get(call);
    if (card && card.drawn === `${call.state}${call.length}`) return;
    if (!card) {
      card = this.#newCard();
      this.#cards.set(call, card);
    }
    card.drawn = `${call.state}${call.length}`;
    this.#fill(card, call);
  }

  #newCard() {
    const name = el("h3", { dir: "auto" });
    const state = el("span", { class: "state" });
    const id = el("span", { class: "call-id" });
    const text = el("pre", { class: "arguments" });
    const root = el("li", { class: "card" }, el("div", { class: "card-head" }, name, state), text, id);
    this.#list.append(root);
    return { root, name, state, id, text };
  }

  #fill(card, call) {
    card.root.dataset.state = call.state;
    setText(card.name, clipped(call.name, call.name.length, 100));
    setText(card.state, [WORDS[call.state] ?? "", ...(call.marks ?? [])].join(", "));
    setText(card.id, clipped(call.callId, call.callId.length, 80));
    const more = call.length > ARGUMENTS_LIMIT ? `\n\u2026 (${number(call.length)} characters)` : "";
    setText(card.text, visible(pretty(call.text, ARGUMENTS_LIMIT)) + more);
  }
}
