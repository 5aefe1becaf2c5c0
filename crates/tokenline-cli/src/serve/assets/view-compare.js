// Two runs side by side: their figures, and which records are added, lost, changed or the same.

import { compare } from "./compare.js";
import { Dialog, button, time } from "./dialog.js";
import { clipped, el, number, plural, setText, visible } from "./dom.js";
import { compact, members } from "./json.js";
import { differencesOf, textsOf } from "./settings.js";
import { duration, statusOf } from "./view-figures.js";
import { wordDiff } from "./words.js";

const STEP = 200; // rows that are added at a time
const VALUE_LIMIT = 400;
const NAME_LIMIT = 60;
const TEXT_LIMIT = 100_000; // characters of a prompt
const LONG_TEXT = 600; // characters: from here on it can be folded
const FILTERS = { differences: "Differences", added: "Added", lost: "Lost", changed: "Changed", same: "Same" };

/** The records of a run. A call counts by its name and its parameters: its id is another in each run. */
function recordsOf({ entries }) {
  return entries.map(({ kind, raw }) => (kind === "record" ? raw : callText(raw)));
}

function callText(raw) {
  const own = members(raw, 10).filter(([name]) => name === "name" || name === "parameters");
  return `{${own.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`;
}

function shown(raw) {
  if (raw === null) return "\u2013";
  if (raw[0] === '"') {
    const text = JSON.parse(raw);
    return clipped(text, text.length, VALUE_LIMIT);
  }
  const text = compact(raw, VALUE_LIMIT);
  return clipped(text, Math.max(text.length, raw.length > 4 * VALUE_LIMIT ? raw.length : 0), VALUE_LIMIT);
}

const nameOf = (name) => (name === "" ? "\u201c\u201d" : clipped(name, name.length, NAME_LIMIT));

export class CompareView {
  #dialog;
  #figures = el("tbody");
  #key = el("select", { id: "compare-key" });
  #filters = {};
  #note = el("p", { class: "note", hidden: "" });
  #counts = el("p", { class: "counts", role: "status" });
  #empty = el("p", { class: "empty", hidden: "" });
  #body = el("tbody");
  #table;
  #more;
  #texts = [[], []];
  #result = null;
  #shown = STEP;

  constructor() {
    const column = (text) => el("th", { scope: "col" }, text);
    const head = (...first) => el("thead", {}, el("tr", {}, ...first, column("Before"), column("After")));
    const choice = el("div", { class: "choice" });
    for (const [name, text] of Object.entries(FILTERS)) {
      const radio = el("input", { type: "radio", name: "compare-filter", value: name });
      radio.addEventListener("change", () => {
        this.#shown = STEP;
        this.#draw();
      });
      choice.append(el("label", {}, radio, el("span", {}, text)));
      this.#filters[name] = radio;
    }
    this.#table = el("table", { class: "differences" }, head(column("Record")), this.#body);
    this.#more = button("Show more", "", () => {
      this.#shown += STEP;
      this.#draw();
    });
    this.#key.addEventListener("change", () => this.#compare(this.#key.value === "*" ? "" : this.#key.value.slice(1)));
    this.#dialog = new Dialog(
      "compare",
      "Two runs",
      el("table", { class: "run-figures" }, head(el("td")), this.#figures),
      el(
        "div",
        { class: "compare-controls" },
        el("div", { class: "field" }, el("label", { for: "compare-key" }, "Match records by"), this.#key),
        el("fieldset", { class: "field" }, el("legend", {}, "Show"), choice),
      ),
      this.#counts,
      this.#note,
      this.#empty,
      this.#table,
      this.#more,
    );
  }

  /** Each run is {summary, saved, values}, the earlier one first. */
  open(before, after) {
    this.#figures.replaceChildren(
      ...figureRows(before.summary, after.summary),
      ...settingRows(before.values, after.values),
      ...textRows(before.values, after.values),
    );
    this.#texts = [recordsOf(before.saved), recordsOf(after.saved)];
    this.#filters.differences.checked = true;
    this.#compare(undefined);
    const options = this.#result.candidates.map((name) => el("option", { value: `=${name}` }, nameOf(name)));
    this.#key.replaceChildren(...options, el("option", { value: "*" }, "The most similar record"));
    this.#key.value = this.#result.key === "" ? "*" : `=${this.#result.key}`;
    const lacking = [before, after].filter(({ summary }) => !summary.hasRecords).length;
    const notes = [];
    if (lacking > 0) notes.push(`${lacking === 2 ? "Both runs were" : "One run was"} too long: kept without records.`);
    if (this.#result.isCapped) notes.push("There are too many records to look for similar ones: only equal ones are matched.");
    this.#note.hidden = notes.length === 0;
    setText(this.#note, notes.join(" "));
    this.#dialog.open();
  }

  #compare(key) {
    this.#result = compare(...this.#texts, key);
    this.#shown = STEP;
    this.#draw();
  }

  #draw() {
    const { rows, counts } = this.#result;
    const said = ["added", "lost", "changed"].map((kind) => `${number(counts[kind])} ${kind}`);
    setText(this.#counts, `${said.join(" \u00b7 ")} \u00b7 ${number(counts.same)} same`);
    const filter = Object.keys(FILTERS).find((name) => this.#filters[name].checked);
    const chosen = rows.filter(({ kind }) => (filter === "differences" ? kind !== "same" : kind === filter));
    this.#body.replaceChildren(...chosen.slice(0, this.#shown).map((row) => this.#row(row)));
    this.#table.hidden = chosen.length === 0;
    this.#empty.hidden = chosen.length > 0;
    setText(this.#empty, filter === "differences" ? "The records are the same." : `No records are ${filter === "same" ? "the same" : filter}.`);
    const rest = chosen.length - this.#shown;
    this.#more.hidden = rest <= 0;
    setText(this.#more, `Show ${plural(Math.min(rest, STEP), "more record")}`);
  }

  #row({ kind, before, after, changes }) {
    const [one, other] = [this.#texts[0][before] ?? null, this.#texts[1][after] ?? null];
    const position = [before, after].filter((at) => at !== null).map((at) => number(at + 1));
    const place = position.length === 2 && position[0] !== position[1] ? position.join(" \u2192 ") : position[0];
    const head = el("th", { scope: "row" }, el("span", { class: "kind" }, kind), el("span", { class: "place" }, `#${place}`));
    const name = this.#nameOf(other ?? one);
    if (name !== null && kind !== "added" && kind !== "lost") head.append(el("span", { class: "name", dir: "auto" }, name));
    const row = el("tr", { "data-kind": kind }, head);
    const cell = (label, raw, side) => {
      const node = el("td", { "data-label": label });
      if (raw === null) node.append(el("span", { class: "none" }, "\u2013"));
      else if (changes.length > 0) node.append(...changes.map((change) => member(change.name, change[side], change.isSameValue)));
      else node.append(...whole(raw));
      return node;
    };
    row.append(cell("Before", one, "before"), cell("After", other, "after"));
    return row;
  }

  // The value of the member that names a record.
  #nameOf(raw) {
    const { key } = this.#result;
    if (key === "") return null;
    const found = members(raw, 200).find(([name]) => name === key);
    return found ? shown(found[1]).slice(0, 120) : null;
  }
}

function member(name, raw, isSameValue) {
  const value = el("span", { class: "value", dir: "auto" }, shown(raw));
  const label = name === null ? [] : [el("span", { class: "member", dir: "auto" }, nameOf(name)), " "];
  const note = isSameValue ? [" ", el("span", { class: "member" }, "(same value)")] : [];
  return el("div", { class: isSameValue ? "same-value" : "" }, ...label, value, ...note);
}

/** A whole record, member by member. */
function whole(raw) {
  const own = members(raw, 20);
  if (own.length === 0) return [member(null, raw)];
  const rest = own.length === 20 ? [el("div", { class: "member" }, "\u2026")] : [];
  return [...own.map(([name, value]) => member(name, value)), ...rest];
}

function figureRows(before, after) {
  const count = ({ kind, figures }) => number(kind === "tool_calls" ? figures.calls : figures.records);
  const tokens = ({ figures }) => (figures.outputTokens === null ? "\u2013" : number(figures.outputTokens));
  const rows = [
    ["Time", (run) => time(run.time)],
    ["Model", ({ provider, model }) => shown(JSON.stringify([provider, model].filter(Boolean).join(" / ")))],
    ...(before.name || after.name ? [["Name", ({ name, title }) => clipped(name || title, (name || title).length, 120)]] : []),
    ["Status", statusOf],
    [before.kind === "tool_calls" && after.kind === "tool_calls" ? "Tool calls" : "Records", count],
    ["Rejected", ({ figures }) => number(figures.rejected)],
    ["First record", ({ figures }) => duration(figures.firstRecord)],
    ["Duration", ({ figures }) => duration(figures.elapsed)],
    ["Tokens out", tokens],
  ];
  return rows.map(([name, value]) => figureRow(name, value(before), value(after)));
}

function figureRow(name, before, after) {
  return el("tr", {}, el("th", { scope: "row" }, name), el("td", { dir: "auto" }, before), el("td", { dir: "auto" }, after));
}

// The model is among the figures.
function settingRows(before, after) {
  const differing = differencesOf(before, after).filter(([name]) => name !== "Model");
  return differing.map(([name, ...values]) => figureRow(name, ...values.map((value) => clipped(value, value.length, VALUE_LIMIT) || "\u2013")));
}

/** The whole prompts, and the other texts that differ. */
function textRows(before, after) {
  const isPrompt = (name) => ["Prompt", "System prompt"].includes(name);
  const [one, other] = [textsOf(before), textsOf(after)];
  const names = Object.keys(one).filter((name) => one[name] !== other[name] || (isPrompt(name) && one[name] !== ""));
  return names.map((name) => figureRow(name, ...textCells(one[name], other[name], isPrompt(name))));
}

/** Two texts with their changed words marked. Long ones can be folded, both at once; a prompt that changed is open. */
function textCells(before, after, isPrompt) {
  const isChanged = before !== after;
  const parts = isChanged ? wordDiff(before ?? "", after ?? "") : null;
  const isLong = Math.max(before?.length ?? 0, after?.length ?? 0) > LONG_TEXT;
  const folds = [];
  const cells = [[before, "before", "del"], [after, "after", "ins"]].map(([text, side, tag]) => {
    if (text === null) return el("span", { class: "none" }, "too long: not kept");
    if (text === "") return el("span", { class: "none" }, "\u2013");
    const node = el("div", { class: "whole-text" });
    if (parts) node.append(...marked(parts, side, tag));
    else node.append(clipped(text.slice(0, TEXT_LIMIT), text.length, TEXT_LIMIT));
    if (!isLong) return node;
    const note = !isChanged ? ", the same" : parts ? ", changed" : ", changed, too long to mark the words";
    const fold = el("details", isChanged && isPrompt ? { open: "" } : {}, el("summary", {}, plural(text.length, "character") + note), node);
    folds.push(fold);
    return fold;
  });
  for (const fold of folds) fold.addEventListener("toggle", () => folds.forEach((other) => (other.open = fold.open)));
  return cells;
}

function marked(parts, side, tag) {
  const nodes = [];
  let rest = TEXT_LIMIT;
  for (const part of parts) {
    const text = part[side];
    if (text === "") continue;
    const shown = visible(text.slice(0, rest));
    nodes.push(part.isSame ? shown : el(tag, {}, shown));
    rest -= text.length;
    if (rest <= 0) return [...nodes, "\u2026"];
  }
  return nodes;
}
