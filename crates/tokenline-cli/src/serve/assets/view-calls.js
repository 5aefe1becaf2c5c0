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
  #openCard = null; // of a call in the text

  constructor(root) {
    this.#root = root;
    this.#list = root.querySelector("ol");
    this.#note = root.querySelector(".note");
    this.#empty = root.querySelector(".empty");
  }

  clear() {
    this.#cards = new Map();
    this.#openCard = null;
    this.#list.replaceChildren();
  }

  draw({ calls, open, kind }) {
    this.#root.hidden = kind !== "tool_calls" && calls.total === 0;
    if (this.#root.hidden) return;
    following(this.#list, () => {
      for (const call of calls.items) this.#draw(call);
      this.#drawOpen(kind === "tool_calls" ? open : null);
      for (const [call, card] of this.#cards) {
        if (calls.items.includes(call)) break; // they are dropped from the front
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
      // A call that was written in the text goes on in the card it grew in.
      card = this.#openCard !== null && this.#openCard.at === call.at ? this.#openCard : this.#newCard();
      if (card === this.#openCard) this.#openCard = null;
      this.#cards.set(call, card);
    }
    card.drawn = `${call.state}${call.length}`;
    this.#fill(card, call);
  }

  #drawOpen(growth) {
    if (this.#openCard && this.#openCard.at !== growth?.at) {
      this.#openCard.root.remove();
      this.#openCard = null;
    }
    if (!growth || growth.members.size === 0) return;
    this.#openCard ??= Object.assign(this.#newCard(), { at: growth.at });
    const parameters = growth.members.get("parameters") ?? growth.members.get("arguments");
    this.#fill(this.#openCard, {
      name: growth.members.get("name")?.text ?? "",
      callId: growth.members.get("call_id")?.text ?? "",
      text: parameters?.text ?? "",
      length: parameters?.length ?? 0,
      state: "open",
    });
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
    setText(card.state, WORDS[call.state] ?? "");
    setText(card.id, clipped(call.callId, call.callId.length, 80));
    const more = call.length > ARGUMENTS_LIMIT ? `\n\u2026 (${number(call.length)} characters)` : "";
    setText(card.text, visible(pretty(call.text, ARGUMENTS_LIMIT)) + more);
  }
}
