// The state of a run: events in, plain data out. No DOM. Everything in it is bounded but the log of records.

import { Growth, MEMBER_LIMIT } from "./growth.js";
import { compact, members, splitValue } from "./json.js";
import { GraphData } from "./graph-data.js";
import { RecordLog } from "./record-log.js";
import { TextTail } from "./text-tail.js";
import { timesAsked } from "./words.js";

const MAX_ROWS = 250;
const MAX_CALLS = 100;
const MAX_REJECTED = 200;
const CELL_LIMIT = 1000;
const RAW_LIMIT = 64 * 1024; // of a record that a row leads to
const MAX_CELLS = 100;
const MAX_OPEN = 16;
const MAX_WARNINGS = 20;

/** The text that an event is of: offsets are relative to it. */
const placeOf = ({ choice = 0, block = 0 }) => `${choice}/${block}`;

/** Where a record or a call stands in the response, and how it differs from what the model wrote there. */
function positionOf({ line, start, end, completion, recovered, repaired, attempts, ...place }) {
  const marks = [];
  if (repaired) marks.push(`repaired: ${repaired.map(({ edit, count = 1 }) => (count > 1 ? `${edit} (${count})` : edit)).join(", ")}`);
  if (attempts) marks.push(timesAsked(attempts));
  if (start === undefined && marks.length === 0) return undefined;
  return { source: placeOf(place), line, start, end, completion, recovered, marks };
}

// A copy of its beginning: a part of a string would keep all of it.
function clippedEntry({ raw, ...entry }) {
  return { ...entry, raw: JSON.parse(JSON.stringify(raw.slice(0, RAW_LIMIT))), length: raw.length };
}

/** The cells of a record's row. */
export const cellsOf = (raw) => members(raw, MAX_CELLS).map(([key, value]) => [key, cell(value)]);

/** The value of a member as the page shows it. */
export function cell(raw) {
  if (raw[0] === '"') {
    const text = JSON.parse(raw);
    return { kind: "string", text: text.slice(0, CELL_LIMIT), length: text.length };
  }
  const kind = raw[0] === "{" ? "object" : raw[0] === "[" ? "array" : "literal";
  return { kind, text: compact(raw, CELL_LIMIT), length: raw.length };
}

/** The end of a list with a limit, and how many are no longer in it. */
class Recent {
  items = [];
  dropped = 0;

  constructor(limit) {
    this.limit = limit;
  }

  push(item) {
    this.items.push(item);
    if (this.items.length > this.limit) {
      this.items.shift();
      this.dropped += 1;
    }
  }

  remove(item) {
    this.items = this.items.filter((other) => other !== item);
  }

  get total() {
    return this.dropped + this.items.length;
  }
}

export class State {
  run = null;
  lastId = 0;
  provider = "";
  model = "";
  kind = "records";
  status = "idle"; // starting, running, resuming, complete, incomplete, failed, stopped, lost
  message = "";
  finishReason = "";
  text = new TextTail();
  log = new RecordLog();
  rows = new Recent(MAX_ROWS); // complete records: {index, at, cells, entry}
  opens = new Map(); // by place: the Growth of the record or call that is being written there, the latest last
  calls = new Recent(MAX_CALLS); // {number, at, name, callId, text, state}
  rejected = new Recent(MAX_REJECTED);
  gaps = [];
  warnings = []; // {code, message}: nothing was rejected, but something may be missing
  refused = false; // the model refused, in part or altogether
  graph = new GraphData();
  figures = {
    elapsed: 0, firstToken: null, firstRecord: null, deltas: 0, bytesHeld: null,
    inputTokens: null, outputTokens: null, records: 0, calls: 0, rejected: 0, callsInText: 0, reasks: null,
  };

  get isRunning() {
    return ["starting", "running", "resuming"].includes(this.status);
  }

  /** Why a response that has ended may not be all that was asked for; empty if nothing says so. */
  get shortfall() {
    if (this.finishReason === "repetition" && !this.isRunning) return "repetition";
    if (this.status !== "complete") return "";
    if (["length", "content_filter", "malformed_call"].includes(this.finishReason)) return this.finishReason;
    if (this.refused) return "refused";
    return this.warnings[0]?.code ?? "";
  }

  /** What was written last of what is open. */
  get open() {
    return [...this.opens.values()].at(-1) ?? null;
  }

  /** Applies one event: {id, event, data}. One that was applied before changes nothing. */
  apply({ id, event, data }) {
    if (id <= this.lastId) return;
    this.lastId = id;
    if (event === "record" || event === "tool_call" || event === "partial") {
      const { head, raw } = splitValue(data);
      if (event === "record") this.#record(head, raw);
      else if (event === "tool_call") this.#toolCall(head, raw);
      else this.#partial(head, raw);
      this.#time(head);
      return;
    }
    const body = JSON.parse(data);
    this.#time(body);
    if (event === "start") this.#start(body);
    else if (event === "delta") this.#delta(body);
    else if (event === "invalid") this.#invalid(body);
    else if (event === "rejected") this.#reject(body);
    else if (event === "note") this.#note(body);
    else if (event === "usage") this.#usage(body);
    else if (event === "gap") this.#gap(body);
    else if (event === "done") this.#done(body);
  }

  #time({ elapsed_ms: elapsed }) {
    if (elapsed > this.figures.elapsed) this.figures.elapsed = elapsed;
  }

  #start({ run, provider, model, kind }) {
    Object.assign(this, { run, provider, model, kind, status: "running" });
  }

  #delta({ kind, text, start, elapsed_ms: elapsed, ...place }) {
    this.figures.deltas += 1;
    this.figures.firstToken ??= elapsed ?? null;
    if (kind === "refusal") this.refused = true;
    this.text.push(kind, placeOf(place), text, start);
  }

  #partial(step, raw) {
    if (step.call !== undefined) return this.#callGrows(step);
    const place = placeOf(step);
    const isNew = step.depth === 0 && step.op === "open";
    const growth = isNew ? new Growth(step.start, place) : this.opens.get(place);
    if (growth?.start !== step.start) return;
    if (!isNew) growth.step(step, raw);
    this.opens.delete(place);
    this.opens.set(place, growth);
    if (this.opens.size > MAX_OPEN) this.opens.delete(this.opens.keys().next().value);
  }

  #record({ index, elapsed_ms: elapsed, ...rest }, raw) {
    const place = placeOf(rest);
    if (this.opens.get(place)?.start <= rest.start) this.opens.delete(place);
    this.figures.firstRecord ??= elapsed ?? null;
    this.#addRecord(index, raw, positionOf(rest));
  }

  #addRecord(index, raw, position) {
    this.figures.records = Math.max(this.figures.records + 1, index + 1);
    const entry = this.log.add("record", index, raw, position);
    const cells = cellsOf(raw);
    const at = position && `${position.source}@${position.start}`;
    this.rows.push({ index, at, cells, entry: raw.length > RAW_LIMIT ? clippedEntry(entry) : entry });
    this.graph.add(cells);
  }

  #callGrows({ call: number, name, text, discarded, choice = 0 }) {
    let call = this.#openCall(choice, number);
    if (discarded) return this.calls.remove(call);
    if (!call) {
      call = { number, choice, name: "", callId: "", text: "", length: 0, state: "open" };
      this.calls.push(call);
    }
    if (name !== undefined) call.name = name;
    if (text !== undefined) {
      call.length += text.length;
      if (call.text.length < MEMBER_LIMIT) call.text += text.slice(0, MEMBER_LIMIT - call.text.length);
    }
  }

  #openCall(choice, number) {
    if (number === undefined) return undefined;
    return this.calls.items.find((call) => call.number === number && call.choice === choice && call.state === "open");
  }

  #toolCall({ call: number, elapsed_ms: elapsed, ...rest }, raw) {
    this.figures.firstRecord ??= elapsed ?? null;
    this.#addCall(raw, { number, choice: rest.choice ?? 0, position: positionOf(rest) });
  }

  #addCall(raw, { number, choice, position }) {
    this.figures.calls += 1;
    this.log.add("call", this.figures.calls - 1, raw, position);
    let call = this.#openCall(choice, number);
    if (!call) {
      call = { number, choice };
      this.calls.push(call);
    }
    Object.assign(call, { marks: position?.marks, name: "", callId: "", text: "", length: 0, state: "complete" });
    for (const [key, value] of members(raw, MAX_CELLS)) {
      if (key === "name") call.name = cell(value).text;
      else if (key === "call_id") call.callId = cell(value).text;
      else if (key === "parameters") Object.assign(call, { text: value.slice(0, MEMBER_LIMIT), length: value.length });
    }
  }

  // The open record will be rejected, unless it turns out to be text.
  #invalid({ start, message, instance_path: path, ...place }) {
    const growth = this.opens.get(placeOf(place));
    if (growth?.start === start) growth.invalid = path ? `${message} (at ${path})` : message;
  }

  #reject(body) {
    this.figures.rejected += 1;
    this.rejected.push(body);
    const call = this.#openCall(body.choice ?? 0, body.call);
    if (call) call.state = "rejected";
    const growth = this.opens.get(placeOf(body));
    if (growth && body.start <= growth.start && growth.start < body.end) this.opens.delete(placeOf(body));
  }

  #note({ code, message }) {
    if (code === "call_in_text") this.figures.callsInText += 1;
    else if (this.warnings.length < MAX_WARNINGS) this.warnings.push({ code, message });
  }

  #usage(body) {
    const { figures } = this;
    figures.bytesHeld = body.bytes_held ?? figures.bytesHeld;
    figures.inputTokens = body.input_tokens ?? figures.inputTokens;
    figures.outputTokens = body.output_tokens ?? figures.outputTokens;
    figures.deltas = Math.max(figures.deltas, body.deltas ?? 0);
    figures.reasks = body.reasks ?? figures.reasks;
    this.#counts(body);
  }

  // The server counts what a gap kept from us.
  #counts({ records = 0, tool_calls: calls = 0, rejected = 0 }) {
    const { figures } = this;
    figures.records = Math.max(figures.records, records);
    figures.calls = Math.max(figures.calls, calls);
    figures.rejected = Math.max(figures.rejected, rejected);
  }

  // What was open when events were lost cannot grow on. Its end comes with the whole value.
  #gap({ from, to }) {
    this.gaps.push({ from, to });
    if (this.gaps.length > 20) this.gaps.shift();
    this.opens.clear();
    for (const call of this.calls.items) if (call.state === "open") Object.assign(call, { text: "", length: 0 });
    this.text.push("gap", "", `events ${from} to ${to} are no longer kept`);
  }

  #done(body) {
    this.#counts(body);
    this.finishReason = body.finish_reason ?? "";
    if (body.unknown) this.#note({ code: "not_shown", message: `parts of the response that are not shown: ${body.unknown}` });
    this.end(body.status, body.message);
  }

  /** The run is over, as the server or the connection says. */
  end(status, message = "") {
    this.status = status;
    this.message = message;
    this.opens.clear();
    for (const call of this.calls.items) if (call.state === "open") call.state = "incomplete";
  }

  /** Data for `State.restore`, or null if the records are too long to be saved. */
  save(entries = this.log.canSave ? this.log.entries : null) {
    if (!this.run || !entries) return null;
    const { run, lastId, provider, model, kind, status, message, finishReason, gaps, warnings, refused, figures } = this;
    return {
      run, lastId, provider, model, kind, status, message, finishReason, gaps, warnings, refused, figures,
      text: this.text.toJSON(),
      entries,
      opens: [...this.opens.values()].map((growth) => growth.toJSON()),
      openCalls: this.calls.items.filter((call) => call.state !== "complete"),
      rejected: { items: this.rejected.items, dropped: this.rejected.dropped },
    };
  }

  static restore(saved) {
    const state = new State();
    for (const { kind, index, raw, position } of saved.entries) {
      if (kind === "record") state.#addRecord(index, raw, position);
      else state.#addCall(raw, { position });
    }
    for (const call of saved.openCalls) state.calls.push(call);
    const { run, lastId, provider, model, kind, status, message, finishReason, gaps, warnings, refused, figures } = saved;
    Object.assign(state, { run, lastId, provider, model, kind, status, message, finishReason, gaps, warnings, refused, figures });
    state.text = TextTail.from(saved.text);
    for (const growth of saved.opens.map(Growth.from)) state.opens.set(growth.place, growth);
    Object.assign(state.rejected, saved.rejected);
    return state;
  }
}
