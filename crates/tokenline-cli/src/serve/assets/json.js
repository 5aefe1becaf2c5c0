// JSON text, handled as text. Values keep the number literals of the model, and no object is ever built from keys that
// the model chose.

/** The position after the string whose opening quote is at `at`; -1 if the string has no end. */
export function stringEnd(text, at) {
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return -1;
    let before = quote - 1;
    while (text.charCodeAt(before) === 92) before -= 1;
    if ((quote - before) % 2 === 1) return quote + 1;
    from = quote + 1;
  }
}

function skipSpace(text, at) {
  while (at < text.length && text.charCodeAt(at) <= 32) at += 1;
  return at;
}

/** The position after the value that begins at `at`. */
function valueEnd(text, at) {
  const first = text[at];
  if (first === '"') return orEnd(text, stringEnd(text, at));
  if (first !== "{" && first !== "[") {
    const scalar = /[\s,\]}]/g;
    scalar.lastIndex = at;
    const match = scalar.exec(text);
    return match ? match.index : text.length;
  }
  const structure = /["{}[\]]/g;
  structure.lastIndex = at;
  let depth = 0;
  for (let match; (match = structure.exec(text)); ) {
    if (match[0] === '"') {
      structure.lastIndex = orEnd(text, stringEnd(text, match.index));
    } else if (match[0] === "{" || match[0] === "[") {
      depth += 1;
    } else {
      depth -= 1;
      if (depth === 0) return match.index + 1;
    }
  }
  return text.length;
}

const orEnd = (text, end) => (end < 0 ? text.length : end);

/** Calls `visit(key, start of the value, end of the value)` for each member of an object until it returns false. */
function eachMember(text, visit) {
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return;
  at = skipSpace(text, at + 1);
  while (text[at] === '"') {
    const keyEnd = stringEnd(text, at);
    if (keyEnd < 0) return;
    const key = JSON.parse(text.slice(at, keyEnd));
    const start = skipSpace(text, skipSpace(text, keyEnd) + 1);
    // The end is looked for only if the visitor needs it: `value`, the last member of an event, can be long.
    const end = visit(key, start);
    if (end === false) return;
    at = skipSpace(text, end);
    if (text[at] !== ",") return;
    at = skipSpace(text, at + 1);
  }
}

/** The members of an object as [key, JSON text of the value], at most `limit`. */
export function members(text, limit) {
  const found = [];
  eachMember(text, (key, start) => {
    const end = valueEnd(text, start);
    found.push([key, text.slice(start, end)]);
    return found.length < limit && end;
  });
  return found;
}

/**
 * Splits the data of an event whose last member is `value`: the other members, parsed, and the text of the value.
 * The server guarantees the order.
 */
export function splitValue(data) {
  let raw;
  let head = data;
  let before = 1;
  eachMember(data, (key, start) => {
    if (key === "value") {
      raw = data.slice(start, data.lastIndexOf("}")).trimEnd();
      head = data.slice(0, before) + "}";
      return false;
    }
    before = valueEnd(data, start);
    return before;
  });
  return { head: JSON.parse(head), raw };
}

/** The tokens of a JSON text, which may end early: strings, scalars and punctuation, without white space. */
function* tokens(text) {
  const token = /"(?:[^"\\]|\\[^])*(?:"|\\?$)|[{}[\],:]|[^\s"{}[\],:]+/g;
  for (let match; (match = token.exec(text)); ) yield match[0];
}

/** The text without white space between its tokens, clipped to about `limit` characters. */
export function compact(text, limit) {
  let out = "";
  for (const token of tokens(text.slice(0, 4 * limit))) {
    out += token === "," || token === ":" ? token + " " : token;
    if (out.length > limit) break;
  }
  return out;
}

/** The text with a line for each member. It may end early, as the arguments of an open call do. */
export function pretty(text, limit) {
  const clipped = text.slice(0, limit);
  let out = "";
  let depth = 0;
  let previous = "";
  const newline = () => (out += "\n" + "  ".repeat(Math.min(depth, 12)));
  for (const token of tokens(clipped)) {
    const closes = token === "}" || token === "]";
    const opened = previous === "{" || previous === "[";
    if (closes) depth = Math.max(0, depth - 1);
    if (previous === "," || (closes ? previous !== "" && !opened : opened)) newline();
    out += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    previous = token;
  }
  return out;
}
