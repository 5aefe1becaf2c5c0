// What outlives a run: the history, the comparison of two runs, saved prompts, and the run as code.

import { History, entryOf, titleOf } from "./history.js";
import { Prompts } from "./prompts.js";
import { forget, saveForm, saveRun, saveValues, takeValues } from "./session.js";
import { withoutTexts } from "./settings.js";
import { CodeView } from "./view-code.js";
import { CompareView } from "./view-compare.js";
import { HistoryView } from "./view-history.js";
import { PromptsView } from "./view-prompts.js";

const NOTHING_SENT = "Nothing is sent: the response comes from a recording or a file. Choose a provider to see its request.";

export class Runs {
  #form;
  #show;
  #showNothing;
  #shown = null; // the state that the page shows
  #options = { prompts: [] };
  #running = null; // the state of a run that has not ended
  #values = null; // the form's values when it began
  #history = new History(() => this.#historyView.refresh());
  #prompts = new Prompts(() => this.#promptsView.refresh());
  #historyView;
  #promptsView;
  #compareView = new CompareView();
  #codeView = new CodeView();

  /** `show(saved)` shows a run that has ended, and `showNothing()` none. */
  constructor(form, show, showNothing) {
    this.#form = form;
    this.#show = show;
    this.#showNothing = showNothing;
    this.#historyView = new HistoryView(this.#history, {
      isRunning: () => this.#running !== null,
      showsRun: () => Boolean(this.#shown?.run),
      forget: () => this.#forget(),
      open: (run) => this.#open(run),
      compare: (before, after) => this.#compare(before, after),
    });
    this.#promptsView = new PromptsView(this.#prompts, { values: () => form.values(), load: (values) => this.#fill(values) });
    const opens = { history: () => this.#historyView.open(), prompts: () => this.#promptsView.open(), code: () => this.#openCode() };
    for (const button of document.querySelectorAll("[data-opens]")) button.addEventListener("click", opens[button.dataset.opens]);
  }

  /** The server's options are there, and the form is filled. */
  ready(options) {
    this.#options = options;
    // A run that goes on after a reload.
    if (this.#running) this.#values ??= takeValues() ?? this.#form.values();
  }

  /** A run begins with the form's values. It may end before it is drawn. */
  begin(state, values) {
    if (this.#running && !this.#running.isRunning) this.#keep(this.#running);
    this.#running = state;
    this.#values = values;
    if (this.#history.isOn) saveValues(values);
  }

  /** Hears of every change of a run. One that ends is kept. */
  draw(state) {
    this.#shown = state;
    if (state.isRunning) {
      this.#running = state;
      return;
    }
    const hasEnded = this.#running === state;
    this.#running = null;
    if (hasEnded) this.#keep(state);
  }

  /** The page is left: a reload brings back the run and the form. Without a history, only a run that goes on. */
  leave(state) {
    this.draw(state);
    const values = this.#form.values();
    const isKept = this.#history.isOn || state.isRunning;
    if (isKept) saveRun(state);
    saveForm(isKept ? values : withoutTexts(values));
  }

  /** Forgets the run that the page shows, and the texts of the form. A run that goes on stays. */
  #forget() {
    if (this.#running) return;
    forget();
    this.#shown = null;
    this.#form.forgetFile();
    this.#fill(withoutTexts(this.#form.values()));
    this.#showNothing();
  }

  #keep(state) {
    const values = this.#values ?? takeValues() ?? this.#form.values();
    this.#values = null;
    takeValues();
    const saved = state.save(state.log.entries);
    // Without a run, nothing came.
    if (!saved) return;
    const title = titleOf(values, this.#options.prompts, saved.model);
    this.#history.add(entryOf(saved, { time: Date.now(), values, title, shortfall: state.shortfall }));
  }

  #fill(values) {
    this.#form.fill(this.#options, { ...this.#form.values(), ...values });
  }

  async #open({ id, hasRecords }) {
    const run = await this.#history.get(id);
    if (!run) return this.#historyView.refresh();
    const { saved, values } = run;
    const message = hasRecords ? saved.message : [saved.message, "The records were too long for the history"].filter(Boolean).join(" \u00b7 ");
    this.#historyView.close();
    this.#fill(values);
    this.#show({ ...saved, message });
  }

  async #compare(...summaries) {
    const runs = await Promise.all(summaries.map(({ id }) => this.#history.get(id)));
    if (runs.includes(undefined)) return this.#historyView.refresh();
    this.#compareView.open(...summaries.map((summary, at) => ({ summary, ...runs[at] })));
  }

  #openCode() {
    const values = this.#form.values();
    if (["recorded", "file"].includes(values.provider)) return this.#codeView.say(NOTHING_SENT);
    const body = this.#form.body();
    if (body === null) return;
    const { schema } = this.#options.prompts.find(({ id }) => id !== "" && id === values["prompt-id"]) ?? {};
    this.#codeView.open(body, schema ? JSON.stringify(schema, null, 2) : undefined);
  }
}
