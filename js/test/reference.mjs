// What is certain of the beginning of a JSON document, by the shortest reader that can tell; and random documents.

/** Thrown where the text ends. */
class End extends Error {}

const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

function put(object, name, value) {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}

/**
 * What is certain of a document that begins with `text`: its `value`, the `completed` parts in their order, and the paths
 * of the parts that are `open`.
 */
export function certain(text) {
  const completed = [];
  const open = [];
  let at = 0;
  let value;
  const peek = () => {
    if (at === text.length) throw new End();
    return text[at];
  };
  const blank = () => {
    while (" \t\n\r".includes(peek())) at++;
  };
  /** One character of a string, or undefined at its end. */
  const character = () => {
    const first = peek();
    if (first === '"') return void at++;
    if (first !== "\\") {
      const whole = String.fromCodePoint(text.codePointAt(at));
      // Half a character at the end of the text.
      if (at + 1 === text.length && first >= "\ud800" && first < "\udc00") throw new End();
      at += whole.length;
      return whole;
    }
    const unit = (from) => {
      if (text.length < from + 6) throw new End();
      return parseInt(text.slice(from + 2, from + 6), 16);
    };
    if (at + 1 === text.length) throw new End();
    if (text[at + 1] !== "u") {
      at += 2;
      return ESCAPES[text[at - 1]];
    }
    const high = unit(at);
    const isPair = high >= 0xd800 && high < 0xdc00;
    const low = isPair ? unit(at + 6) : undefined;
    at += isPair ? 12 : 6;
    return isPair ? String.fromCharCode(high, low) : String.fromCharCode(high);
  };
  const string = (show) => {
    at++;
    let shown = "";
    show?.(shown);
    for (let next; (next = character()) !== undefined; ) {
      shown += next;
      show?.(shown);
    }
    return shown;
  };
  const part = (path, show) => {
    blank();
    const first = peek();
    const parts = first === "{" ? {} : first === "[" ? [] : undefined;
    if (parts) {
      show(parts);
      open.push(path);
      at++;
      blank();
      const end = first === "{" ? "}" : "]";
      for (let index = 0; text[at] !== end; index++) {
        let key = index;
        if (first === "{") {
          key = string();
          blank();
          // The colon.
          at++;
        }
        part([...path, key], (value) => put(parts, key, value));
        blank();
        if (text[at] === ",") {
          at++;
          blank();
        }
      }
      at++;
      open.pop();
      completed.push([path, JSON.stringify(parts)]);
    } else if (first === '"') {
      open.push(path);
      const whole = string(show);
      open.pop();
      completed.push([path, JSON.stringify(whole)]);
    } else {
      const literal = ["true", "false", "null"].find((word) => word[0] === first);
      const raw = literal ? text.slice(at, at + literal.length) : /^[-+.eE\d]*/.exec(text.slice(at))[0];
      // More digits may follow a number.
      if (literal ? raw !== literal : at + raw.length === text.length) throw new End();
      at += raw.length;
      show(JSON.parse(raw));
      completed.push([path, JSON.stringify(JSON.parse(raw))]);
    }
  };
  try {
    part([], (root) => (value = root));
  } catch (end) {
    if (!(end instanceof End)) throw end;
  }
  return { value, completed, open };
}

const CHARACTERS = ["a", "B", " ", "é", "日", "😀", "𝄞", "\u2028", "{", "}", "[", "]", ",", ":", "'", "`", "#", "-", "<", "/", "0"];
const ESCAPED = ['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u00e9", "\\u65E5", "\\ud83d\\ude00", "\\uD834\\uDD1E", "\\u0000", "\\uFFFD"];
const NUMBERS = ["0", "-0", "7", "-12", "3.25", "1e3", "1E+2", "2.5e-3", "1234567890123456789", "0.1", "-1.5E10", "1e400", "9007199254740993"];
const BLANKS = ["", "", "", " ", "  ", "\t", "\n", "\r\n", "\n  "];

/** A random document. `odd` ones have names that repeat or are not in their order in JavaScript. */
export function document({ below, pick }, { odd = false, depth = 5, isTight = false } = {}) {
  const blank = () => (isTight ? "" : pick(BLANKS));
  const string = () => {
    const length = pick([0, 1, 3, 8, 8, 30, below(40) === 0 ? 3000 : 12]);
    let text = "";
    for (let count = 0; count < length; count++) text += pick(pick([CHARACTERS, CHARACTERS, ESCAPED]));
    return `"${text}"`;
  };
  const names = () => {
    let count = 0;
    const name = () => {
      if (odd) return pick(['"a"', '"b"', '"__proto__"', '"constructor"', '"0"', '"10"', '"2"', '"\\u0061"', '""', '"toString"']);
      const special = pick([...Array(12).fill("n"), "__proto__", "constructor", "toString", ""]);
      return `"${special === "n" ? "n" : `${special}_`}${count++}"`.replace(/^"__proto___0"$/, '"__proto__"');
    };
    return name;
  };
  const value = (depth) => {
    const kind = depth === 0 ? below(4) : below(8);
    if (kind < 2) return string();
    if (kind === 2) return pick(NUMBERS);
    if (kind === 3) return pick(["true", "false", "null"]);
    return container(depth - 1);
  };
  const container = (depth) => {
    const isObject = below(2) === 0;
    const count = pick([0, 0, 1, 2, 3, 5]);
    const name = names();
    const parts = [];
    for (let index = 0; index < count; index++) {
      parts.push(`${blank()}${isObject ? `${name()}${blank()}:${blank()}` : ""}${value(depth)}${blank()}`);
    }
    const inside = count === 0 ? blank() : parts.join(",");
    return isObject ? `{${inside}}` : `[${inside}]`;
  };
  return container(depth);
}
