// The open record, grown from the steps of `partial`. Each of its members is kept as text, clipped.

export const MEMBER_LIMIT = 16 * 1024;
const MAX_MEMBERS = 200;

class Member {
  text = "";
  length = 0;
  done = false;

  constructor(kind) {
    this.kind = kind;
  }

  append(text) {
    this.length += text.length;
    if (this.text.length < MEMBER_LIMIT) this.text += text.slice(0, MEMBER_LIMIT - this.text.length);
  }
}

const OPENING = { object: "{", array: "[", string: '"' };
const CLOSING = { object: "}", array: "]", string: '"' };

export class Growth {
  members = new Map(); // by key: the text of a string, the JSON text of another value
  #stack = []; // of the values that are open below the record: {kind, count}
  #member = null;
  invalid = ""; // why it will be rejected

  /** `place` is the text that it is in, `start` its offset there. */
  constructor(start, place) {
    this.start = start;
    this.place = place;
  }

  get at() {
    return `${this.place}@${this.start}`;
  }

  /** Takes a step at depth 1 or deeper. `raw` is the JSON text of the value of a `set`. */
  step(step, raw) {
    const { op, depth } = step;
    if (depth === 0) return;
    if (depth === 1 && (op === "open" || op === "set")) {
      this.#member = new Member(op === "open" ? step.kind : "literal");
      if (this.members.size < MAX_MEMBERS || this.members.has(step.key)) this.members.set(step.key, this.#member);
    }
    const member = this.#member;
    if (!member) return;
    const isTop = depth === 1;
    if (op === "open") {
      if (!isTop) this.#begin(depth, step.key);
      if (!isTop || step.kind !== "string") member.append(OPENING[step.kind] ?? "");
      this.#stack[depth] = { kind: step.kind, count: 0 };
    } else if (op === "set") {
      if (!isTop) this.#begin(depth, step.key);
      member.append(raw ?? "null");
      if (isTop) member.done = true;
    } else if (op === "append") {
      member.append(isTop ? step.text : JSON.stringify(step.text).slice(1, -1));
    } else if (op === "close") {
      if (!isTop || member.kind !== "string") member.append(CLOSING[this.#stack[depth]?.kind] ?? "");
      if (isTop) member.done = true;
    }
  }

  // A value below a member: a comma, and its key if it has one.
  #begin(depth, key) {
    const parent = this.#stack[depth - 1];
    if (!parent) return;
    if (parent.count > 0) this.#member.append(", ");
    parent.count += 1;
    if (parent.kind === "object") this.#member.append(JSON.stringify(String(key)) + ": ");
  }

  toJSON() {
    const open = [...this.members].findIndex(([, member]) => member === this.#member);
    const list = [...this.members].map(([key, { kind, text, length, done }]) => ({ key, kind, text, length, done }));
    const { start, place, invalid } = this;
    return { start, place, invalid, members: list, open, stack: this.#stack };
  }

  static from(saved) {
    const growth = new Growth(saved.start, saved.place);
    saved.members.forEach(({ key, kind, ...rest }, at) => {
      const member = Object.assign(new Member(kind), rest);
      growth.members.set(key, member);
      if (at === saved.open) growth.#member = member;
    });
    growth.#stack = saved.stack;
    growth.invalid = saved.invalid ?? "";
    return growth;
  }
}
