// State that survives a reload, in the tab's own storage.

import { safeValues } from "./history.js";

const RUN = "tokenline-run";
const FORM = "tokenline-form";
const VALUES = "tokenline-run-values";

function put(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false; // no storage, or no room in it
  }
}

function take(key) {
  try {
    const text = sessionStorage.getItem(key);
    // Taken away, so that a duplicate of this tab does not resume the same run.
    sessionStorage.removeItem(key);
    return text && JSON.parse(text);
  } catch {
    return null;
  }
}

/** Saves a run; if its records are too long for that, what is needed to see again what the server still has. */
export function saveRun(state) {
  if (!state.run) return;
  const saved = state.save();
  if (saved && put(RUN, { saved })) return;
  const { run, provider, model, kind } = state;
  if (state.isRunning) put(RUN, { again: { run, provider, model, kind } });
}

/** {saved} for `State.restore`, or {again}: the run, from its first event the server still has. */
export const takeRun = () => take(RUN);

/** Forgets the run and the form: a reload shows neither. */
export function forget() {
  for (const key of [RUN, FORM, VALUES]) take(key);
}

export const saveForm = (values) => put(FORM, safeValues(values));
export const takeForm = () => take(FORM);

/** The form's values when a run began: they outlive a reload, as the run does. */
export const saveValues = (values) => put(VALUES, safeValues(values));
export const takeValues = () => take(VALUES);
