// The page: wires the form, the run, its state and the views together.

import { Announcer } from "./announcer.js";
import { Editor } from "./editor.js";
import { Form } from "./form.js";
import { Pump } from "./pump.js";
import { Runs } from "./runs.js";
import { saveFile } from "./save-file.js";
import { takeForm, takeRun } from "./session.js";
import { State } from "./state.js";
import { Run } from "./stream.js";
import { toCsv } from "./csv.js";
import { CallsView } from "./view-calls.js";
import { DetailView } from "./view-detail.js";
import { FiguresView } from "./view-figures.js";
import { GraphView } from "./view-graph.js";
import { RejectedView } from "./view-rejected.js";
import { TableView } from "./view-table.js";
import { TextView } from "./view-text.js";

const byId = (id) => document.getElementById(id);
const form = new Form(byId("form"));
const [extract, stop, download, downloadCsv] = ["extract", "stop", "download", "download-csv"].map(byId);
const announcer = new Announcer(byId("announcer"));
const records = byId("records");
const editor = new Editor(byId("editor"), (kind) => state.log.samples(kind === "tools" ? "call" : "record"));
for (const button of document.querySelectorAll("[data-edit]")) {
  button.addEventListener("click", () => editor.open(byId(button.dataset.edit), button.dataset.edit));
}
const runs = new Runs(form, showEnded, showNothing);
const text = new TextView(byId("text-pane"));
const showInText = (place) => text.show(place);
const detail = new DetailView(byId("detail"), showInText);
const views = [
  new FiguresView(byId("summary")),
  new TableView(records, {
    open: (entry, button) => detail.open(entry, button),
    isOpened: (entry) => detail.shows(entry),
    redraw: () => pump.redraw(),
  }),
  detail,
  new CallsView(byId("calls")),
  new RejectedView(byId("rejected"), showInText),
  text,
  new GraphView(byId("graph")),
];

let state = new State();
let run = null;
const pump = new Pump((event) => state.apply(event), draw);

function draw() {
  for (const view of views) view.draw?.(state);
  announcer.draw(state);
  runs.draw(state);
  editor.update();
  records.hidden = state.kind === "tool_calls" && state.rows.total === 0;
  // Not `disabled`: a button that has the focus would lose it.
  extract.ariaDisabled = String(state.isRunning);
  stop.ariaDisabled = String(!state.isRunning);
  for (const button of [download, downloadCsv]) button.ariaDisabled = String(state.log.size === 0);
  byId("results").setAttribute("aria-busy", String(state.isRunning));
}

// A view begins anew with each run.
function show(next) {
  state = next;
  pump.clear();
  for (const view of views) view.clear?.();
  pump.redraw();
}

// A run that ended before, as the history has it.
function showEnded(saved) {
  run?.leave();
  run = null;
  show(State.restore(saved));
  announcer.restore(state);
  byId("results").focus();
}

// The run that the page shows is forgotten.
function showNothing() {
  run?.leave();
  run = null;
  show(new State());
}

function newRun() {
  const own = new Run(
    (events) => (own === run ? pump.put(events) : undefined),
    (status, message = "") => {
      if (own !== run) return;
      // What was received before the connection ended counts first.
      pump.flush();
      if (["running", "resuming"].includes(status)) Object.assign(state, { status, message });
      else state.end(status, message);
      pump.redraw();
    },
  );
  run = own;
  return own;
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (state.isRunning) return;
  const body = form.body();
  if (body === null) return;
  run?.leave();
  const next = new State();
  next.status = "starting";
  show(next);
  announcer.begin();
  runs.begin(state, form.values());
  newRun().start(body);
  if (matchMedia("(max-width: 899px)").matches) byId("results").scrollIntoView();
});

stop.addEventListener("click", () => {
  if (state.isRunning) run?.stop();
});

const fileName = (ending) => `${`tokenline-${state.model}`.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80)}.${ending}`;

download.addEventListener("click", () => {
  if (state.log.size > 0) saveFile(fileName("jsonl"), [state.log.blob()], "application/jsonl");
});

downloadCsv.addEventListener("click", async () => {
  if (state.log.size === 0) return;
  const csv = toCsv(await state.log.lines());
  // The mark of UTF-8 is for spreadsheets that would read it as another encoding.
  saveFile(fileName("csv"), ["\ufeff", ...csv], "text/csv");
});

// A file that is dropped on the page is a response, unless a dialog or a field takes it.
const takesFile = ({ target, dataTransfer }) => {
  return dataTransfer.types.includes("Files") && !target.closest?.("dialog, textarea, input");
};
// Behind a dialog nothing takes it, and the browser must not leave the page for it.
function refuseFile(event) {
  if (event.defaultPrevented || !event.dataTransfer.types.includes("Files") || event.target.closest?.("input, textarea")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
}
addEventListener("dragover", (event) => {
  if (!takesFile(event)) return refuseFile(event);
  event.preventDefault();
  document.body.classList.add("takes-file");
});
addEventListener("dragleave", ({ relatedTarget }) => {
  if (relatedTarget === null) document.body.classList.remove("takes-file");
});
addEventListener("drop", async (event) => {
  document.body.classList.remove("takes-file");
  if (!takesFile(event) || event.dataTransfer.files.length === 0) return refuseFile(event);
  event.preventDefault();
  const isReadable = await form.openFile(event.dataTransfer.files[0], event.dataTransfer.files);
  if (isReadable && !state.isRunning) byId("form").requestSubmit();
});

addEventListener("pagehide", () => {
  pump.flush();
  runs.leave(state);
});

function restore() {
  const { saved, again } = takeRun() ?? {};
  if (saved) show(State.restore(saved));
  else if (again) show(Object.assign(new State(), again, { status: "running" }));
  else return;
  announcer.restore(state);
  if (state.isRunning && state.run) newRun().resume(state.run, state.lastId);
}

async function begin() {
  restore();
  draw();
  try {
    const response = await fetch("/api/options");
    if (!response.ok) throw new Error(`status ${response.status}`);
    const options = await response.json();
    form.fill(options, takeForm());
    runs.ready(options);
    byId("version").textContent = options.version;
  } catch (error) {
    form.fail(`The server's options cannot be read (${error.message}). Reload the page.`);
  }
}

begin();
