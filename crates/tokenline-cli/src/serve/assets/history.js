// The runs that this browser keeps: the last ones, within limits. Each is one entry of the database, so tabs that write at
// the same time do not overwrite each other's.

import { briefOf } from "./settings.js";
import { Changes, done, problemOf, setSetting, setting, transaction } from "./store.js";
import { shortened, timesAsked } from "./words.js";

export const MAX_RUNS = 50;
export const MAX_SIZE = 50_000_000; // bytes in all
export const MAX_RUN = 10_000_000; // bytes of one run
const ENTRY_SIZE = 100; // bytes of a record beside its text
const LONG_VALUE = 100_000; // characters
const OFF = "tokenline-history";
const TITLE_LENGTH = 120;
export const NAME_LENGTH = 120;

const bytes = (texts) => new Blob(texts).size;

/** A URL without what may be a secret: the user, the password, and the query. */
export function withoutSecrets(url) {
  const text = url.trim();
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? "" : "http://";
  try {
    const { protocol, host, pathname } = new URL(scheme + text);
    return `${scheme === "" ? `${protocol}//` : ""}${host}${pathname === "/" ? "" : pathname}`;
  } catch {
    return ""; // no URL
  }
}

/** The form's values, without what may be a secret. */
export function safeValues(values) {
  const safe = {};
  for (const [name, value] of Object.entries(values)) {
    if (!/key$/i.test(name)) safe[name] = /url$/i.test(name) && typeof value === "string" ? withoutSecrets(value) : value;
  }
  return safe;
}

/** What the list shows of a prompt: its first words. */
export function titleOf(values, prompts, model) {
  if (values.provider === "recorded") return `Recording: ${values.recording}`;
  if (values.provider === "file") return `File: ${model}`;
  const prompt = prompts.find(({ id }) => id !== "" && id === values["prompt-id"]);
  const words = (text) => (text ?? "").slice(0, 100 * TITLE_LENGTH).replace(/\s+/g, " ").trim();
  const title = prompt ? [prompt.title ?? prompt.id, words(values.text)].filter(Boolean).join(": ") : words(values.prompt) || words(values.text);
  return shortened(title, TITLE_LENGTH);
}

/** What a list says of a run beside its counts: how it was checked, and what was done about rejected records. */
function marksOf({ entries, figures }, { check }) {
  const marks = check === "schema" ? ["schema"] : [];
  const times = figures.reasks?.requests ?? 0;
  if (times > 0) marks.push(timesAsked(times));
  const repaired = entries.filter(({ position }) => position?.marks?.some((mark) => mark.startsWith("repaired"))).length;
  if (repaired > 0) marks.push(`${repaired} repaired`);
  return marks;
}

/**
 * The entry of a run that ended: {summary, body}. `saved` is the data for `State.restore`, with all records; over the
 * limit it is kept without them.
 */
export function entryOf(saved, { time, values, title, shortfall }) {
  const { run: id, provider, model, kind, status, finishReason, figures } = saved;
  const body = { id, values: safeValues(values), saved };
  const rest = () => bytes([JSON.stringify({ ...body, saved: { ...body.saved, entries: [] } })]);
  let size = rest() + bytes(body.saved.entries.map(({ raw }) => raw));
  if (size > MAX_RUN) {
    body.saved = { ...saved, entries: [] };
    size = rest();
  }
  if (size > MAX_RUN) {
    // It is what the user entered.
    const isShort = (value) => typeof value !== "string" || value.length < LONG_VALUE;
    body.values = Object.fromEntries(Object.entries(body.values).filter(([, value]) => isShort(value)));
    size = rest();
  }
  const [settings, marks] = [briefOf(safeValues(values)), marksOf(saved, values)];
  size += ENTRY_SIZE * body.saved.entries.length + bytes([JSON.stringify(settings)]);
  const hasRecords = body.saved.entries.length > 0 || figures.records + figures.calls === 0;
  const about = { title, settings, marks, size, hasRecords };
  const summary = { id, time, provider, model, kind, status, shortfall, finishReason, figures, ...about };
  return { summary, body };
}

/** The ids of the runs to drop: the oldest, until the limits are kept. `runs` are summaries, the latest first. */
export function toDrop(runs) {
  let size = 0;
  return runs.filter((run, at) => (size += run.size) > MAX_SIZE || at >= MAX_RUNS).map(({ id }) => id);
}

const latestFirst = (runs) => runs.sort((a, b) => b.time - a.time || (a.id < b.id ? 1 : -1));

export class History {
  #changes;
  #isOff = false;
  /** Why runs are not kept; empty if they are. */
  problem = "";

  /** `changed` hears that the runs or the switch changed, here or in another tab. */
  constructor(changed) {
    this.changed = changed;
    this.#changes = new Changes((what) => {
      if (what === "runs" || what === "settings") this.changed();
    });
  }

  get isOn() {
    return setting(OFF) !== "off" && !this.#isOff;
  }

  set isOn(isOn) {
    const isStored = setSetting(OFF, isOn ? null : "off");
    // Then it lasts until the page is left.
    this.#isOff = !isOn && !isStored;
    this.#tell();
  }

  /** Keeps a run. Without room for it, the oldest ones go, if together they can have taken as much. */
  async add({ summary, body }) {
    if (!this.isOn) return;
    try {
      for (let freed = 0; !(await this.#put(summary, body)); ) {
        const others = (await this.list()).filter(({ id }) => id !== summary.id);
        const size = others.reduce((sum, other) => sum + other.size, 0);
        if (freed >= summary.size || freed + size < summary.size) throw new DOMException("", "QuotaExceededError");
        const oldest = others.at(-1);
        await this.#remove([oldest.id]);
        freed += oldest.size;
      }
      this.problem = "";
    } catch (error) {
      this.problem = `${problemOf(error)} This run is not kept.`;
    }
    this.#tell();
  }

  async #put(summary, body) {
    try {
      await transaction(["runs", "bodies"], "readwrite", async (runs, bodies) => {
        runs.put(summary);
        bodies.put(body);
        for (const id of toDrop(latestFirst(await done(runs.getAll())))) {
          runs.delete(id);
          bodies.delete(id);
        }
      });
      return true;
    } catch (error) {
      if (error?.name === "QuotaExceededError") return false;
      throw error;
    }
  }

  /** The summaries, the latest first. */
  async list() {
    return latestFirst(await transaction(["runs"], "readonly", (runs) => done(runs.getAll())));
  }

  /** {values, saved} of a run; undefined if another tab has removed it. */
  async get(id) {
    return transaction(["bodies"], "readonly", (bodies) => done(bodies.get(id)));
  }

  async #remove(ids) {
    await transaction(["runs", "bodies"], "readwrite", (runs, bodies) => {
      for (const id of ids) {
        runs.delete(id);
        bodies.delete(id);
      }
    });
  }

  /** Removes a run. Returns what `restore` puts back; undefined if another tab has removed it. */
  async remove(id) {
    const entry = await transaction(["runs", "bodies"], "readwrite", async (runs, bodies) => {
      const [summary, body] = [await done(runs.get(id)), await done(bodies.get(id))];
      runs.delete(id);
      bodies.delete(id);
      return summary && body && { summary, body };
    });
    this.#tell();
    return entry;
  }

  /** Puts back runs that were removed. */
  async restore(entries) {
    for (const { summary, body } of entries) {
      if (!(await this.#put(summary, body))) throw new DOMException("", "QuotaExceededError");
    }
    this.#tell();
  }

  /** Gives a run a name in place of its title; an empty one takes it back. */
  async rename(id, name) {
    await transaction(["runs"], "readwrite", async (runs) => {
      const { name: _, ...run } = (await done(runs.get(id))) ?? {};
      if (run.id === id) runs.put(name === "" ? run : { ...run, name });
    });
    this.#tell();
  }

  async clear() {
    await transaction(["runs", "bodies"], "readwrite", (runs, bodies) => {
      runs.clear();
      bodies.clear();
    });
    this.#tell();
  }

  #tell() {
    this.#changes.tell("runs");
    this.changed();
  }
}
