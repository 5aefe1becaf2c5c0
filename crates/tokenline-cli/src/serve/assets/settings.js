// The settings of a run, from the form's values: those that count for its provider, in words. No DOM.

import { shortened, wordDiff } from "./words.js";

/** The fields of the form that the user writes. */
const TEXTS = ["prompt", "text", "system", "schema", "tools", "set"];
const BRIEF = 2500; // characters of a text
const BRIEF_END = "\0"; // then comes a number that tells a long text from others
const MAX_DIFFERENCES = 4;
const QUOTED = 60; // characters

const TIMES = ["never", "once", "twice"];
const SENT = { prompt: "in the system prompt", response_format: "as the response format", none: "not at all" };
const CHECKS = { none: "nothing", schema: "a schema", tools: "tools" };

const isSent = ({ provider }) => provider !== "recorded" && provider !== "file";

/** The form's values without what the user wrote. */
export function withoutTexts(values) {
  return { ...values, ...Object.fromEntries(TEXTS.map((name) => [name, ""])), "prompt-id": "", check: "none" };
}

/** The form's values for a list of runs: of a long text its beginning, and its hash. */
export function briefOf(values) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, typeof value === "string" ? brief(value) : value]));
}

function brief(text) {
  if (text.length <= BRIEF) return text;
  let hash = 0x811c9dc5; // FNV-1a
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return text.slice(0, BRIEF) + BRIEF_END + (hash >>> 0);
}

/** The texts of a run by name; empty where one does not count, null where it was too long to be kept. */
export function textsOf(values) {
  const text = (name, counts) => (counts ? (values[name] ?? null) : "");
  const sent = isSent(values);
  const own = !values["prompt-id"];
  return {
    Prompt: sent && !own ? `Built-in prompt: ${values["prompt-id"]}` : text("prompt", sent),
    "System prompt": text("system", sent),
    Text: text("text", sent),
    Schema: text("schema", values.check === "schema"),
    Tools: text("tools", values.check === "tools"),
    "Further members": text("set", sent),
  };
}

/** The other settings of a run, by name, in words; empty where one is not set or does not count. */
function settingsOf(values) {
  const sent = isSent(values);
  const value = (name, counts = sent) => (counts ? String(values[name] ?? "") : "");
  const yes = (name) => (values[name] === true ? "yes" : "no");
  const reask = Number(values.reask ?? 0);
  const isRecorded = values.provider === "recorded";
  return {
    Model: [values.provider, isRecorded ? values.recording : value("model")].filter(Boolean).join(" / "),
    "Base URL": value("base-url"),
    "Check against": CHECKS[values.check] ?? "",
    "Send the schema": sent && values.check === "schema" ? (SENT[values["send-schema"]] ?? "") : "",
    "Tool calls": sent && values.check === "tools" ? (values["call-format"] ? "also in the text" : "those of the provider's API") : "",
    "Ask again": sent ? (TIMES[reask] ?? `${reask} times`) : "",
    Repair: yes("repair"),
    "Stop on repetition": yes("stop-on-repetition"),
    Temperature: value("temperature"),
    Seed: value("seed"),
    "Max tokens": value("max-tokens"),
    Format: value("from", values.provider === "file"),
    Pace: value("delay", isRecorded),
    "Chunk size": value("chunk", isRecorded),
  };
}

/** The settings that differ: [name, before, after]. */
export function differencesOf(before, after) {
  const [one, other] = [settingsOf(before), settingsOf(after)];
  return Object.keys(one).filter((name) => one[name] !== other[name]).map((name) => [name, one[name], other[name]]);
}

/** In one line, what a run has other than the one before it. */
export function differenceOf(before, after) {
  const [one, other] = [textsOf(before), textsOf(after)];
  const texts = Object.keys(one).filter((name) => one[name] !== other[name]);
  let settings = differencesOf(before, after);
  // That there is a schema, or tools, says the rest.
  const isOtherCheck = settings.some(([name]) => name === "Check against");
  const saidByCheck = (name) => isOtherCheck && ["Schema", "Tools", "Send the schema", "Tool calls"].includes(name);
  settings = settings.filter(([name]) => !saidByCheck(name));
  const found = [
    ...texts.filter((name) => !saidByCheck(name)).map((name) => `${name.toLowerCase()} ${changeOf(name, one[name] ?? "", other[name] ?? "")}`),
    ...settings.map(([name, its, others]) => `${name.toLowerCase()} ${its || "none"} \u2192 ${others || "none"}`),
  ];
  if (found.length === 0) return "the same request";
  const more = found.length - MAX_DIFFERENCES;
  return found.slice(0, MAX_DIFFERENCES).join(" \u00b7 ") + (more > 0 ? ` \u00b7 ${more} more` : "");
}

function changeOf(name, before, after) {
  if (before === "") return "added";
  if (after === "") return "removed";
  if (!["Prompt", "System prompt", "Text"].includes(name)) return "changed";
  const beginnings = [before, after].map((text) => text.split(BRIEF_END, 1)[0]);
  const changes = wordDiff(...beginnings)?.filter(({ isSame }) => !isSame) ?? [];
  if (changes.length === 0) return "changed";
  const [one, other] = [changes[0].before, changes[0].after].map((text) => shortened(text.replace(/\s+/g, " ").trim(), QUOTED));
  const more = changes.length > 1 ? `, and ${changes.length - 1} more` : "";
  if (one === "" && other === "") return `changed in its spaces${more}`;
  if (one === "") return `with \u201c${other}\u201d${more}`;
  if (other === "") return `without \u201c${one}\u201d${more}`;
  return `\u201c${one}\u201d \u2192 \u201c${other}\u201d${more}`;
}
