// The run in figures, and its state in words.

import { number, plural, setText, visible } from "./dom.js";
import { timesAsked } from "./words.js";

const STATUS = {
  idle: "Ready",
  starting: "Connecting",
  running: "Streaming",
  resuming: "Resuming",
  complete: "Complete",
  incomplete: "Incomplete",
  failed: "Failed",
  stopped: "Stopped",
  lost: "Disconnected",
};

// Complete, but not all that was asked for.
const SHORTFALL = {
  length: "Token limit",
  token_limit: "Token limit",
  repetition: "Repeats itself",
  content_filter: "Filtered",
  refused: "Refused",
  malformed_call: "Call lost",
  calls_missing: "Calls missing",
  stray_lines: "Lines skipped",
  not_shown: "Parts not shown",
};

/** The state of a run in a few words. */
export function statusOf(state) {
  return SHORTFALL[state.shortfall] ?? STATUS[state.status] ?? state.status;
}

export class FiguresView {
  #status;
  #message;
  #values = {};

  constructor(root) {
    this.#status = root.querySelector("#status");
    this.#message = root.querySelector("#message");
    for (const value of root.querySelectorAll("[data-figure]")) this.#values[value.dataset.figure] = value;
  }

  draw(state) {
    const { figures } = state;
    this.#status.dataset.status = state.status;
    this.#status.dataset.shortfall = state.shortfall;
    setText(this.#status, statusOf(state));
    setText(this.#message, visible(message(state)));
    const values = this.#values;
    // A file is there at once.
    const isTimed = state.provider !== "file";
    setText(values.firstToken, duration(isTimed ? figures.firstToken : null));
    setText(values.firstRecord, duration(isTimed ? figures.firstRecord : null));
    setText(values.records, number(state.kind === "tool_calls" ? figures.calls : figures.records));
    setText(values.recordRate, rate(figures.records + figures.calls, figures, "", "/s"));
    // Most servers send a token in each piece of the response. What they are is known at its end.
    const hasTokens = !state.isRunning && figures.outputTokens !== null;
    setText(values.tokenRate, rate(hasTokens ? figures.outputTokens : figures.deltas, figures, "\u2013"));
    setText(values.tokenRateName, hasTokens ? "Tokens/s" : "Pieces/s");
    setText(values.held, bytes(figures.bytesHeld));
    setText(values.rejected, number(figures.rejected));
    values.rejected.parentElement.classList.toggle("some", figures.rejected > 0);
    setText(values.recordsName, state.kind === "tool_calls" ? "Tool calls" : "Records");
    setText(values.firstName, state.kind === "tool_calls" ? "First call" : "First record");
  }
}

function askedAgain({ requests, input_tokens: inputTokens, output_tokens: outputTokens }) {
  const times = timesAsked(requests);
  return inputTokens + outputTokens === 0 ? times : `${times}: ${number(inputTokens)} tokens in, ${number(outputTokens)} out`;
}

function message({ status, message, model, finishReason, gaps, warnings, figures, rejected }) {
  const said = [];
  const isWithoutItems = figures.records === 0 && rejected.items.some(({ code }) => code === "missing_field");
  if (model) said.push(model);
  if (message) said.push(message);
  else if (finishReason && status !== "running") said.push(`finish reason: ${finishReason}`);
  if (figures.outputTokens !== null && status !== "running") {
    said.push(`${number(figures.inputTokens ?? 0)} tokens in, ${number(figures.outputTokens)} out`);
  }
  said.push(...warnings.map((warning) => warning.message));
  if (figures.reasks?.requests > 0) said.push(askedAgain(figures.reasks));
  if (isWithoutItems) said.push("the response has no list of items: the server may not support response formats");
  if (figures.callsInText > 0) {
    said.push(`${plural(figures.callsInText, "call")} in the text not read: choose "Also in the text" under "Tool calls"`);
  }
  const missing = gaps.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  if (missing > 0) said.push(`${plural(missing, "event")} could not be replayed; records may be missing`);
  return said.join(" \u00b7 ");
}

export function duration(ms) {
  if (ms === null) return "\u2013";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
}

// Since the first token: the wait for a model is not its speed.
function rate(count, { elapsed, firstToken }, none, unit = "") {
  const seconds = (elapsed - (firstToken ?? 0)) / 1000;
  if (count === 0 || seconds < 0.05) return none;
  const value = count / seconds;
  return (value < 100 ? value.toFixed(1) : number(Math.round(value))) + unit;
}

function bytes(value) {
  if (value === null) return "\u2013";
  if (value < 1000) return `${value} B`;
  return value < 1e6 ? `${(value / 1000).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
}
