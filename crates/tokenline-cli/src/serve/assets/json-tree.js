// A JSON text as a tree of places. It reads what is still being written: a missing comma, colon, quote or bracket ends
// nothing. One pass without recursion. Keys and values stay text: no object is built from keys that someone chose.

/** The JSON string at `start`, without its quotes and escapes; as written if it is malformed. */
export function unquoted(text, start, end) {
  const token = text.slice(start, end);
  try {
    return JSON.parse(token);
  } catch {
    return token.replace(/^"|"$/g, "");
  }
}

const TOKEN = /"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*("?)|[{}[\],:]|[^\s"{}[\],:]+/g;
// The same in the rest of a line in which a string has no end: it is only a word, and swallows nothing.
const WORD = /"[^\s"\\{}[\],:]*|[{}[\],:]|[^\s"{}[\],:]+/g;

/** The tokens of a text: {start, end, first, isClosed}. */
function* tokens(text) {
  let at = 0;
  let endless = 0; // the end of a line that was searched for the end of a string: no line is searched twice
  for (;;) {
    let token = at < endless ? WORD : TOKEN;
    token.lastIndex = at;
    let match = token.exec(text);
    if (token === WORD && (match?.index ?? text.length) >= endless) {
      at = endless;
      continue;
    }
    if (!match) return;
    if (match[1] === "") {
      endless = token.lastIndex;
      token = WORD;
      token.lastIndex = match.index;
      match = token.exec(text);
    }
    at = token.lastIndex;
    yield { start: match.index, end: at, first: match[0][0], isClosed: match[1] === '"' };
  }
}

/**
 * The value of `text`, and what surrounds the offset `caret`.
 *
 * A node is {kind, start, end, parent, at}: its kind is "object", "array", "string" or "scalar", and `at` its key or
 * index in its parent. An object has `members`, nodes by key; an array has `elements`.
 *
 * `here` is {container, expects, key, token}: the innermost open node, or null; whether a "name" or a "value" can stand
 * at the caret, or "nothing"; the key that such a value has; and the string or scalar that the caret is in, as
 * {kind, start, end}, or null.
 */
export function tree(text, caret = text.length) {
  let root = null;
  let open = null; // the innermost open container
  let expects = "value";
  let key = null; // of the value that follows in an object
  let here = null;
  const depth = { object: 0, array: 0 };

  const add = (node) => {
    if (open === null) {
      root ??= node;
    } else if (open.kind === "array") {
      node.at = open.elements.length;
      open.elements.push(node);
    } else if (key !== null) {
      node.at = key;
      // The last one counts, as for JSON.parse.
      open.members.set(key, node);
    }
  };
  const leave = (end) => {
    open.end = end;
    depth[open.kind] -= 1;
    open = open.parent;
  };
  const close = (kind, start, end) => {
    if (depth[kind] === 0) return; // fits no open bracket
    while (open.kind !== kind) leave(start);
    leave(end);
    key = null;
    expects = "nothing";
  };

  for (const { start, end, first, isClosed } of tokens(text)) {
    const kind = first === '"' ? "string" : "{}[],:".includes(first) ? "mark" : "scalar";
    if (here === null) {
      if (caret <= start) {
        here = { container: open, expects, key, token: null };
      } else if (kind !== "mark" && (isClosed ? caret < end : caret <= end)) {
        // A string after a value, without a comma, is the next name.
        const isName = open?.kind === "object" && kind === "string" && expects === "nothing";
        here = { container: open, expects: isName ? "name" : expects, key, token: { kind, start, end } };
      }
    }
    if (first === "{" || first === "[") {
      const node = { kind: first === "{" ? "object" : "array", start, end: text.length, parent: open, at: null };
      if (first === "{") node.members = new Map();
      else node.elements = [];
      add(node);
      open = node;
      depth[node.kind] += 1;
      key = null;
      expects = first === "{" ? "name" : "value";
    } else if (first === "}") {
      close("object", start, end);
    } else if (first === "]") {
      close("array", start, end);
    } else if (first === ",") {
      key = null;
      expects = open?.kind === "object" ? "name" : "value";
    } else if (first === ":") {
      expects = open?.kind === "object" && key === null ? "nothing" : "value";
    } else if (open?.kind === "object" && kind === "string" && expects !== "value") {
      key = unquoted(text, start, end);
      expects = "nothing";
    } else {
      add({ kind, start, end, parent: open, at: null });
      key = null;
      expects = "nothing";
    }
  }
  here ??= { container: open, expects, key, token: null };
  return { root, here };
}
