// The history: the runs that this browser keeps, to open, compare and delete.

import { Dialog, button, time } from "./dialog.js";
import { clipped, el, plural, setText } from "./dom.js";
import { MAX_RUNS, MAX_SIZE, NAME_LENGTH } from "./history.js";
import { differenceOf } from "./settings.js";
import { problemOf } from "./store.js";
import { statusOf } from "./view-figures.js";

const UNDO_TIME = 10_000; // milliseconds
const DIFFERENCE_LENGTH = 300;
const LIMITS = `At most ${MAX_RUNS} runs and ${MAX_SIZE / 1e6} MB, the oldest go first`;

/** "12 records, 1 rejected" */
function countsOf({ kind, figures }) {
  const count = kind === "tool_calls" ? plural(figures.calls, "tool call") : plural(figures.records, "record");
  return figures.rejected > 0 ? `${count}, ${figures.rejected} rejected` : count;
}

const titleOf = ({ name, title }) => name || title || "(no prompt)";

export class HistoryView {
  #history;
  #acts;
  #dialog;
  #runs = []; // summaries, the latest first
  #chosen = []; // ids, at most two
  #differences = new Map(); // of two runs, by their ids: in one line
  #keep = el("input", { type: "checkbox", id: "keep-history" });
  #note = el("p", { class: "problem", role: "status", hidden: "" });
  #list = el("ol", { class: "entries" });
  #empty = el("p", { class: "empty" });
  #hint = el("p", { class: "hint", "aria-live": "polite" });
  #compare;
  #clear;
  #confirm;
  #question = el("span", { id: "clear-question" });
  #undo;
  #deleted = []; // what Undo puts back
  #said = el("span", { class: "hint", role: "status" });
  #timer = 0;
  #foot;
  #isRenaming = false;

  /** `acts`: {open(summary), compare(summary, summary), isRunning(), showsRun(), forget()} */
  constructor(history, acts) {
    this.#history = history;
    this.#acts = acts;
    this.#compare = button("Compare", "", () => this.#compareChosen());
    this.#clear = button("Clear all", "", () => this.#askToClear());
    const yes = button("Delete all", "", () => this.#clearAll());
    const no = button("Keep them", "", () => this.#endConfirm());
    const labels = { role: "group", "aria-labelledby": "clear-question" };
    this.#confirm = el("div", { class: "confirm", ...labels, hidden: "" }, this.#question, yes, no);
    this.#undo = button("Undo", "", () => this.#restore());
    this.#keep.addEventListener("change", () => (history.isOn = this.#keep.checked));
    const keep = el("label", { class: "switch", for: "keep-history" }, this.#keep, "Keep a history in this browser");
    const about = `${LIMITS}. They stay in the storage of this browser, on this device; API keys are never part of them. Without a history, a reload forgets the run and the texts of the form, too.`;
    this.#dialog = new Dialog(
      "history",
      "History",
      el("div", { class: "dialog-intro" }, keep, el("p", { class: "hint" }, about), this.#note),
      this.#empty,
      this.#list,
    );
    const undo = el("div", { class: "buttons" }, this.#said, this.#undo);
    this.#foot = el("div", { class: "dialog-foot" }, this.#hint, undo, el("div", { class: "buttons" }, this.#confirm, this.#clear, this.#compare));
    this.#dialog.element.append(this.#foot);
    this.#dialog.element.addEventListener("close", () => this.#endUndo());
    this.#endUndo();
  }

  async open() {
    this.#isRenaming = false;
    this.#endConfirm();
    await this.refresh(true);
    this.#dialog.open();
  }

  close() {
    this.#dialog.close();
  }

  /** Shows the runs as they are now. */
  async refresh(always = false) {
    if (this.#isRenaming || (!always && !this.#dialog.isOpen)) return;
    let runs = [];
    let problem = this.#history.problem;
    try {
      runs = await this.#history.list();
    } catch (error) {
      problem = `${problemOf(error)} Runs are not kept.`;
    }
    this.#keep.checked = this.#history.isOn;
    this.#note.hidden = problem === "";
    setText(this.#note, problem);
    this.#draw(runs);
  }

  #draw(runs) {
    this.#runs = runs;
    this.#chosen = this.#chosen.filter((id) => runs.some((run) => run.id === id));
    const hadFocus = this.#dialog.element.contains(document.activeElement);
    const focused = document.activeElement?.closest?.("#history .entries > li");
    const at = focused ? [...this.#list.children].indexOf(focused) : -1;
    const control = focused ? [...focused.querySelectorAll("input, button")].indexOf(document.activeElement) : -1;
    this.#list.replaceChildren(...runs.map((run, index) => this.#entry(run, this.#differenceOf(run, index))));
    this.#list.hidden = runs.length === 0;
    this.#empty.hidden = runs.length > 0;
    setText(this.#empty, this.#history.isOn ? "No runs yet. Each run appears here when it ends." : "No runs are kept.");
    this.#compare.hidden = runs.length < 2;
    if (!this.#canClear) this.#endConfirm();
    this.#clear.hidden = !this.#canClear || !this.#confirm.hidden;
    this.#showChoice();
    // What was deleted had the focus: its successor gets it.
    if (at >= 0 && control >= 0) {
      const next = this.#list.children[Math.min(at, runs.length - 1)];
      (next?.querySelectorAll("input, button")[control] ?? this.#keep).focus();
    }
    // So does the switch, if the control that had it is gone.
    if (hadFocus && !document.activeElement.checkVisibility()) this.#keep.focus();
    this.#showFoot();
  }

  get #canClear() {
    return this.#list.children.length > 0 || this.#acts.showsRun();
  }

  // An empty strip is none.
  #showFoot() {
    const parts = [this.#confirm, this.#clear, this.#compare, this.#undo];
    this.#foot.hidden = this.#hint.textContent === "" && parts.every(({ hidden }) => hidden);
  }

  /** What a run has other than the next older one of its title; empty if there is none, or it was kept without its settings. */
  #differenceOf({ id, title, settings }, at) {
    const older = this.#runs.slice(at + 1).find((run) => run.title === title);
    if (!older?.settings || !settings) return "";
    const key = `${older.id} ${id}`;
    if (!this.#differences.has(key)) this.#differences.set(key, differenceOf(older.settings, settings));
    return this.#differences.get(key);
  }

  #entry(run, difference) {
    const { id, provider, model, marks = [], hasRecords } = run;
    const title = titleOf(run);
    const name = clipped(title, title.length, 120);
    const of = `${name}, ${new Date(run.time).toLocaleString("en")}`;
    const check = el("input", { type: "checkbox", "aria-label": `Choose to compare: ${of}` });
    check.checked = this.#chosen.includes(id);
    check.dataset.id = id;
    check.addEventListener("change", () => {
      this.#chosen = check.checked ? [...this.#chosen, id] : this.#chosen.filter((other) => other !== id);
      this.#showChoice();
    });
    const named = [provider, model].filter(Boolean).join(" / ");
    const details = [clipped(named, named.length, 120), countsOf(run), statusOf(run), ...marks];
    if (!hasRecords) details.push("too long: kept without its records");
    const state = el("p", { class: "details" }, time(run.time), ` \u00b7 ${details.join(" \u00b7 ")}`);
    const entry = el("div", { class: "entry" }, el("p", { class: "entry-title", dir: "auto" }, name), state);
    if (difference) {
      const text = clipped(difference, difference.length, DIFFERENCE_LENGTH);
      state.before(el("p", { class: "details difference", dir: "auto" }, text));
    }
    const item = el(
      "li",
      { "data-status": run.status, "data-run": id },
      check,
      entry,
      el(
        "div",
        { class: "buttons" },
        button("Open", `the run ${of}`, () => this.#open(run)),
        button("Rename", `the run ${of}`, () => this.#rename(item, run)),
        button("Delete", `the run ${of}`, () => this.#delete(run)),
      ),
    );
    return item;
  }

  #rename(item, run) {
    if (this.#isRenaming) return;
    const input = el("input", { type: "text", maxlength: NAME_LENGTH, "aria-label": "Name of the run", autocomplete: "off" });
    input.value = run.name || run.title;
    this.#isRenaming = true;
    const end = async (name) => {
      if (!this.#isRenaming) return;
      this.#isRenaming = false;
      try {
        if (name !== null && name !== (run.name || run.title)) await this.#history.rename(run.id, name === run.title ? "" : name);
      } catch (error) {
        this.#fail(error);
      }
      await this.refresh();
      this.#focus(run.id, 1);
    };
    const save = () => end(input.value.trim());
    input.addEventListener("keydown", (event) => {
      if (event.isComposing) return;
      if (event.key === "Enter") save();
      if (event.key !== "Escape") return;
      event.preventDefault(); // else the dialog closes
      end(null);
    });
    item.replaceChildren(
      el("div", { class: "entry" }, input),
      el("div", { class: "buttons" }, button("Save", "the new name", save), button("Cancel", "", () => end(null))),
    );
    input.select();
    input.focus();
  }

  // Gives the focus to a button of a run.
  #focus(id, index) {
    const item = [...this.#list.children].find(({ dataset }) => dataset.run === id);
    (item?.querySelectorAll("button")[index] ?? this.#keep).focus();
  }

  async #delete({ id }) {
    try {
      const entry = await this.#history.remove(id);
      if (entry) this.#deleted.push(entry);
    } catch (error) {
      return this.#fail(error);
    }
    const count = this.#deleted.length;
    this.#undo.hidden = count === 0;
    setText(this.#said, count > 1 ? `${count} runs deleted.` : "Deleted.");
    this.#showFoot();
    this.#waitToEndUndo();
  }

  #waitToEndUndo() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // It does not go while it has the focus.
      if (document.activeElement === this.#undo) this.#waitToEndUndo();
      else this.#endUndo();
    }, UNDO_TIME);
  }

  #endUndo() {
    clearTimeout(this.#timer);
    this.#deleted = [];
    this.#undo.hidden = true;
    setText(this.#said, "");
    this.#showFoot();
  }

  async #restore() {
    const entries = this.#deleted;
    this.#endUndo();
    try {
      await this.#history.restore(entries);
    } catch (error) {
      this.#fail(error);
    }
    await this.refresh();
    this.#focus(entries.at(-1)?.summary.id, 0);
  }

  #open(run) {
    if (this.#acts.isRunning()) return setText(this.#hint, "A run is going on. Stop it, or wait for its end, to open another.");
    this.#acts.open(run);
  }

  #fail(error) {
    this.#note.hidden = false;
    setText(this.#note, problemOf(error));
  }

  #showChoice() {
    const count = this.#chosen.length;
    for (const check of this.#list.querySelectorAll("input[type=checkbox]")) check.disabled = count === 2 && !check.checked;
    this.#compare.ariaDisabled = String(count !== 2);
    const texts = ["Choose two runs to compare them.", "Choose one more run to compare.", "Two runs are chosen."];
    setText(this.#hint, this.#compare.hidden ? "" : texts[count]);
    this.#showFoot();
  }

  #compareChosen() {
    const runs = this.#runs.filter(({ id }) => this.#chosen.includes(id));
    this.#acts.compare(...runs.sort((a, b) => a.time - b.time));
  }

  #askToClear() {
    const others = this.#acts.isRunning() ? "Delete all runs but the one that is going on?" : "Delete all runs, and what this page shows?";
    setText(this.#question, others);
    this.#confirm.hidden = false;
    this.#clear.hidden = true;
    this.#confirm.lastChild.focus();
  }

  #endConfirm() {
    const hadFocus = this.#confirm.contains(document.activeElement);
    this.#confirm.hidden = true;
    this.#clear.hidden = !this.#canClear;
    this.#showFoot();
    if (hadFocus) (this.#clear.hidden ? this.#keep : this.#clear).focus();
  }

  async #clearAll() {
    try {
      await this.#history.clear();
    } catch (error) {
      this.#fail(error);
    }
    this.#endUndo();
    this.#acts.forget();
    await this.refresh();
    this.#endConfirm();
    this.#keep.focus();
  }
}
