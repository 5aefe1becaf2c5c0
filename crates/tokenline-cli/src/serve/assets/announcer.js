// What a screen reader announces of a run: its beginning and end, the first record, counts at intervals, errors.

import { plural, setText } from "./dom.js";
import { statusOf } from "./view-figures.js";

const INTERVAL = 8000;

export class Announcer {
  #region;
  #said = {};
  #next = 0;

  constructor(region) {
    this.#region = region;
  }

  begin() {
    this.#said = { status: "starting", count: 0, rejected: 0 };
    this.#say("Extraction started.");
  }

  /** Goes on without repeating what a run said before the reload. */
  restore(state) {
    this.#said = { status: state.status, count: count(state), rejected: state.figures.rejected };
  }

  draw(state) {
    const { status, figures } = state;
    const name = state.kind === "tool_calls" ? "tool call" : "record";
    const said = this.#said;
    if (status !== said.status) {
      said.status = status;
      if (status === "resuming") this.#say("The connection broke. Resuming.");
      else if (!state.isRunning && status !== "idle") return this.#say(ending(state, name));
    }
    if (!state.isRunning) return;
    const isFirst = said.count === 0 && count(state) > 0;
    const isDue = performance.now() >= this.#next;
    if (!isFirst && !isDue) return;
    const news = [];
    if (isFirst) news.push(`First ${name} complete.`);
    else if (count(state) > said.count) news.push(`${plural(count(state), name)}.`);
    if (figures.rejected > said.rejected) {
      const last = state.rejected.items.at(-1);
      const place = last?.line === undefined ? "" : `, the last one in line ${last.line}`;
      news.push(`${figures.rejected} rejected${place}.`);
    }
    if (news.length === 0) return;
    Object.assign(said, { count: count(state), rejected: figures.rejected });
    this.#say(news.join(" "));
  }

  error(message) {
    this.#say(message);
  }

  #say(text) {
    this.#next = performance.now() + INTERVAL;
    setText(this.#region, text);
  }
}

const count = ({ figures, kind }) => (kind === "tool_calls" ? figures.calls : figures.records);

function ending(state, name) {
  const message = state.message ? ` ${state.message}` : "";
  return `${statusOf(state)}: ${plural(count(state), name)}, ${state.figures.rejected} rejected.${message}`;
}
