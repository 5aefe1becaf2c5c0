// The page: wires the form, the run, its state and the views together.

import { Announcer } from "./announcer.js";
import { Form } from "./form.js";
import { Pump } from "./pump.js";
import { saveForm, saveRun, takeForm, takeRun } from "./session.js";
import { State } from "./state.js";
import { Run } from "./stream.js";
import { CallsView } from "./view-calls.js";
import { FiguresView } from "./view-figures.js";
import { GraphView } from "./view-graph.js";
import { RejectedView } from "./view-rejected.js";
import { TableView } from "./view-table.js";
import { TextView } from "./view-text.js";

const byId = (id) => document.getElementById(id);
const form = new Form(byId("form"));
const [extract, stop, download] = [byId("extract"), byId("stop"), byId("download")];
const announcer = new Announcer(byId("announcer"));
const records = byId("records");
const views = [
  new FiguresView(byId("summary")),
  new TableView(records),
  new CallsView(byId("calls")),
  new RejectedView(byId("rejected")),
  new TextView(byId("text-pane")),
  new GraphView(byId("graph")),
];

let state = new State();
let run = null;
const pump = new Pump((event) => state.apply(event), draw);

function draw() {
  for (const view of views) view.draw(state);
  announcer.draw(state);
  records.hidden = state.kind === "tool_calls" && state.rows.total === 0;
  // Not `disabled`: a button that has the focus would lose it.
  extract.ariaDisabled = String(state.isRunning);
  stop.ariaDisabled = String(!state.isRunning);
  download.ariaDisabled = String(state.log.size === 0);
  byId("results").setAttribute("aria-busy", String(state.isRunning));
}

// A view begins anew with each run.
function show(next) {
  state = next;
  pump.clear();
  for (const view of views) view.clear?.();
  pump.redraw();
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
  newRun().start(body);
  if (matchMedia("(max-width: 899px)").matches) byId("results").scrollIntoView();
});

stop.addEventListener("click", () => {
  if (state.isRunning) run?.stop();
});

download.addEventListener("click", () => {
  if (state.log.size === 0) return;
  const url = URL.createObjectURL(state.log.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = `${`tokenline-${state.model}`.replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80)}.jsonl`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
});

addEventListener("pagehide", () => {
  pump.flush();
  saveRun(state);
  saveForm(form.values());
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
    byId("version").textContent = options.version;
  } catch (error) {
    form.fail(`The server's options cannot be read (${error.message}). Reload the page.`);
  }
}

begin();
