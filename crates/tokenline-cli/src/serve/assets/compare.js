// Two lists of records, compared: which are added, lost, changed, or the same. Records are JSON texts; no DOM.

import { members, stringEnd } from "./json.js";

const MAX_MEMBERS = 200;
const MAX_DEPTH = 1000;
// Members that name a record by custom, the best first.
const NAMES = ["id", "uuid", "key", "name", "entity", "title", "number", "subject", "url"];
// Similar records are looked for among so many; of a value that more records have, none is told by it.
const MAX_SIMILAR = 5000;
const MAX_POSTINGS = 32;

/** A number by its value: 1, 1.0 and 10e-1 are one text, and no digit is lost. */
export function numberValue(literal) {
  const [, sign, whole, fraction = "", exponent = "0"] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (whole === undefined || exponent.length > 15) return literal;
  const digits = (whole + fraction).replace(/^0+/, "");
  const kept = digits.replace(/0+$/, "");
  if (kept === "") return "0";
  return `${sign}${kept}e${Number(exponent) - fraction.length + (digits.length - kept.length)}`;
}

/** A JSON text by its value: equal for equal values, whatever the order of members, the escapes and the numbers. */
export function canonical(text) {
  const stack = []; // of open objects and arrays: {values, keys, key}
  const structure = /[^\s:,]/g;
  for (let match; (match = structure.exec(text)); ) {
    const at = match.index;
    const first = match[0];
    if (first === "{" || first === "[") {
      if (stack.length === MAX_DEPTH) return text;
      stack.push({ values: [], keys: first === "{" ? new Map() : null, key: null });
      continue;
    }
    let value;
    if (first === "}" || first === "]") {
      const closed = stack.pop();
      if (!closed) return text;
      const { values, keys } = closed;
      if (keys) {
        const names = [...keys.keys()].sort();
        value = `{${names.map((name) => `${name}:${keys.get(name)}`).join(",")}}`;
      } else {
        value = `[${values.join(",")}]`;
      }
    } else if (first === '"') {
      const end = stringEnd(text, at);
      if (end < 0) return text;
      structure.lastIndex = end;
      const string = text.slice(at, end);
      value = string.includes("\\") ? JSON.stringify(JSON.parse(string)) : string;
    } else {
      const scalar = /[^\s,\]}]*/y;
      scalar.lastIndex = at;
      [value] = scalar.exec(text);
      structure.lastIndex = at + value.length;
      if (/[-\d]/.test(first)) value = numberValue(value);
    }
    const parent = stack.at(-1);
    if (!parent) return value;
    if (!parent.keys) parent.values.push(value);
    else if (parent.key === null) parent.key = value;
    else {
      parent.keys.set(parent.key, value); // of repeated names, the last counts
      parent.key = null;
    }
  }
  return text;
}

/** A record, read once: its members by name, each {raw, value}. */
function read(raw) {
  const own = new Map();
  for (const [name, text] of members(raw, MAX_MEMBERS)) own.set(name, { raw: text, value: canonical(text) });
  return { raw, value: canonical(raw), members: own };
}

const valueOf = (record, name) => record.members.get(name)?.value;

/** The values of a member, if every record has it, and none twice. */
function keyValues(records, name) {
  const values = new Map();
  records.forEach((record, at) => {
    const value = valueOf(record, name);
    if (value !== undefined) values.set(value, at);
  });
  return values.size === records.length ? values : null;
}

function candidateMembers(before, after) {
  const first = before[0] ?? after[0];
  if (!first) return [];
  const names = [...first.members.keys()];
  return names.filter((name) => keyValues(before, name) && keyValues(after, name));
}

/** The member that names the records: one that does by custom, else one whose values mostly come again. */
function guess(before, after, candidates) {
  const shared = (name) => {
    const values = keyValues(before, name);
    return after.filter((record) => values.has(valueOf(record, name))).length;
  };
  const least = Math.min(before.length, after.length);
  const known = NAMES.find((name) => candidates.includes(name) && shared(name) > 0);
  const isScalar = (name) => [...before, ...after].every((record) => !/^[{[]/.test(valueOf(record, name)));
  return known ?? candidates.find((name) => isScalar(name) && shared(name) > 0 && 2 * shared(name) >= least) ?? null;
}

/**
 * Compares two lists of JSON texts. `key` is the member whose value names a record, "" to compare whole records, or
 * undefined for the best guess. Returns
 * {rows, counts, candidates, key}, the rows in the order of `after`:
 * {kind: "added" | "lost" | "changed" | "same", before, after, changes}. `before` and `after` are indices, or null.
 * `changes` are the members that differ, {name, before, after, isSameValue}: JSON texts, or null where there is no such
 * member; of "same" records, those that are the same value in other words.
 */
export function compare(beforeTexts, afterTexts, key) {
  const before = beforeTexts.map(read);
  const after = afterTexts.map(read);
  const candidates = candidateMembers(before, after);
  const by = key === undefined ? guess(before, after, candidates) : key;
  const pairs = new Map(); // from the index of a record in `after` to that of its match in `before`
  const isByKey = by !== null && by !== "" && candidates.includes(by);
  let isCapped = false;
  if (isByKey) {
    const values = keyValues(before, by);
    after.forEach((record, at) => {
      const match = values.get(valueOf(record, by));
      if (match !== undefined) pairs.set(at, match);
    });
  } else {
    pairEqual(before, after, pairs);
    isCapped = pairSimilar(before, after, pairs);
  }
  const rows = rowsOf(before, after, pairs);
  const counts = { added: 0, lost: 0, changed: 0, same: 0 };
  for (const { kind } of rows) counts[kind] += 1;
  return { rows, counts, candidates, key: isByKey ? by : "", isCapped };
}

function pairEqual(before, after, pairs) {
  const waiting = new Map(); // value: indices, the first at the end
  before.forEach(({ value }, at) => {
    if (!waiting.has(value)) waiting.set(value, []);
    waiting.get(value).push(at);
  });
  for (const indices of waiting.values()) indices.reverse();
  after.forEach(({ value }, at) => {
    const match = waiting.get(value)?.pop();
    if (match !== undefined) pairs.set(at, match);
  });
}

/** Pairs records of which at least half of the members are equal, the most similar first. Returns whether it gave up. */
function pairSimilar(before, after, pairs) {
  const taken = new Set(pairs.values());
  const lost = before.map((_, at) => at).filter((at) => !taken.has(at));
  const added = after.map((_, at) => at).filter((at) => !pairs.has(at));
  if (lost.length === 0 || added.length === 0) return false;
  if (lost.length + added.length > 2 * MAX_SIMILAR) return true;
  const numbers = new Map(); // of a member with its value: texts can be long
  const featuresOf = ({ members: own }) =>
    [...own].map(([name, { value }]) => {
      const feature = `${JSON.stringify(name)}:${value}`;
      if (!numbers.has(feature)) numbers.set(feature, numbers.size);
      return numbers.get(feature);
    });
  const theirs = new Map(lost.map((at) => [at, new Set(featuresOf(before[at]))]));
  const postings = new Map(); // feature: the lost records that have it
  for (const [at, features] of theirs) {
    for (const feature of features) {
      if (!postings.has(feature)) postings.set(feature, []);
      postings.get(feature).push(at);
    }
  }
  const found = []; // {at, match, score, distance}
  for (const at of added) {
    const own = featuresOf(after[at]);
    // Found by a value that few have; counted by all.
    const rare = own.map((feature) => postings.get(feature) ?? []).filter(({ length }) => length <= MAX_POSTINGS);
    for (const match of new Set(rare.flat())) {
      const other = theirs.get(match);
      const score = own.filter((feature) => other.has(feature)).length / Math.max(own.length, other.size);
      if (score >= 0.5) found.push({ at, match, score, distance: Math.abs(at - match) });
    }
  }
  found.sort((a, b) => b.score - a.score || a.distance - b.distance);
  for (const { at, match } of found) {
    if (pairs.has(at) || taken.has(match)) continue;
    pairs.set(at, match);
    taken.add(match);
  }
  return false;
}

function rowsOf(before, after, pairs) {
  const matches = new Map([...pairs].map(([at, match]) => [match, at]));
  // A lost record stands after the one that it followed.
  const lostAfter = new Map();
  let anchor = -1;
  before.forEach((_, at) => {
    if (matches.has(at)) {
      anchor = matches.get(at);
      return;
    }
    if (!lostAfter.has(anchor)) lostAfter.set(anchor, []);
    lostAfter.get(anchor).push({ kind: "lost", before: at, after: null, changes: [] });
  });
  const rows = [...(lostAfter.get(-1) ?? [])];
  after.forEach((record, at) => {
    const match = pairs.get(at);
    if (match === undefined) {
      rows.push({ kind: "added", before: null, after: at, changes: [] });
    } else {
      const kind = before[match].value === record.value ? "same" : "changed";
      rows.push({ kind, before: match, after: at, changes: changesOf(before[match], record) });
    }
    rows.push(...(lostAfter.get(at) ?? []));
  });
  return rows;
}

function changesOf(before, after) {
  const names = new Set([...before.members.keys(), ...after.members.keys()]);
  const changes = [];
  for (const name of names) {
    const [one, other] = [before.members.get(name), after.members.get(name)];
    if (one?.raw === other?.raw) continue;
    const isSameValue = one !== undefined && one.value === other?.value;
    if (isSameValue && words(one.raw) === words(other.raw)) continue;
    changes.push({ name, before: one?.raw ?? null, after: other?.raw ?? null, isSameValue });
  }
  // Values without members, as the elements of a list may be.
  if (names.size === 0 && before.raw !== after.raw) {
    changes.push({ name: null, before: before.raw, after: after.raw, isSameValue: before.value === after.value });
  }
  return changes;
}

// White space around a value is nothing to report.
const words = (raw) => raw.replace(/\s+/g, "");
