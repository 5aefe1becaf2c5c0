// Which records the table shows, and in which order, if not the latest as they come.

import { members } from "./json.js";

/** Sorts by the place in the response, instead of a member. */
export const PLACE = Symbol("place");

export class RecordQuery {
  #terms = [];
  sort = null; // {key, descending}: a member, or PLACE

  set filter(text) {
    this.#terms = text.toLowerCase().split(/\s+/).filter((term) => term !== "");
  }

  /** Whether the table shows something other than the latest records. */
  get isActive() {
    return this.#terms.length > 0 || this.sort !== null;
  }

  /** Sorts by a member: upwards, then downwards, then no more. */
  sortBy(key) {
    if (this.sort?.key !== key) this.sort = { key, descending: false };
    else this.sort = this.sort.descending ? null : { key, descending: true };
  }

  /** The entries of records that match, sorted. */
  select(entries) {
    const found = entries.filter(({ kind, raw }) => kind === "record" && this.#matches(raw));
    if (!this.sort) return found;
    const { key, descending } = this.sort;
    const valueOf = key === PLACE ? ({ position, index }) => [0, position?.start ?? index, String(index)] : (entry) => sortValue(entry, key);
    const keyed = found.map((entry) => ({ entry, value: valueOf(entry) }));
    keyed.sort((a, b) => compare(a.value, b.value, descending));
    return keyed.map(({ entry }) => entry);
  }

  #matches(raw) {
    if (this.#terms.length === 0) return true;
    // As people read it: without escapes.
    const text = (raw.includes("\\") ? unescaped(raw) : raw).toLowerCase();
    return this.#terms.every((term) => text.includes(term));
  }
}

const unescaped = (raw) => raw.replace(/"(?:[^"\\]|\\.)*"/g, (string) => `"${JSON.parse(string)}"`);

// The rank of its type, and the value: numbers come before texts, which come before all else.
function sortValue({ raw, length = raw.length }, key) {
  // Of a long record that is cut, its members are not known.
  if (raw.length < length) return null;
  const found = members(raw, Infinity).findLast(([name]) => name === key);
  if (!found || found[1] === "null") return null;
  const value = found[1];
  if (value[0] === '"') return [1, JSON.parse(value)];
  const number = Number(value);
  // Integers of more than 53 bits differ in their text only.
  return Number.isNaN(number) ? [2, value] : [0, number, value];
}

const collator = new Intl.Collator("en", { numeric: true });

// Records without the member come last, in both directions.
function compare(a, b, descending) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = a[0] - b[0] || (a[0] === 0 ? a[1] - b[1] || collator.compare(a[2], b[2]) : collator.compare(a[1], b[1]));
  return descending ? -order : order;
}
