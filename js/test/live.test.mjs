// The value of a text as it grows: after each chunk it is what is certain of the text so far.
import assert from "node:assert/strict";
import test from "node:test";
import { parse as jsonriver } from "jsonriver";
import * as calls from "../dist/index.js";
import { Live, live } from "../dist/live.js";
import { EXHAUSTIVE, halves, pieces, random, randomPieces } from "./fixtures.mjs";
import { certain, document } from "./reference.mjs";

const DOCUMENTS = EXHAUSTIVE ? 6000 : 500;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text of chunks, without half a character at its end. */
function textOf(chunks) {
  if (typeof chunks[0] === "string") return chunks.join("").replace(/[\ud800-\udbff]$/, "");
  const bytes = Buffer.concat(chunks);
  let end = bytes.length;
  for (let back = 1; back <= Math.min(3, end); back++) {
    const byte = bytes[end - back];
    if (byte < 0x80) break;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      if (length > back) end -= back;
      break;
    }
  }
  return decoder.decode(bytes.subarray(0, end));
}

/** All containers of a value, with their paths. */
function containers(value, path = []) {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.keys(value).flatMap((key) => containers(value[key], [...path, Array.isArray(value) ? Number(key) : key]));
  return [{ container: value, path }, ...inside];
}

const at = (value, path) => path.reduce((value, key) => value?.[key], value);

/** Fails unless `isComplete` says what the reference says. */
function checkCompleteness(live, value, open, context) {
  const isOpen = new Set(open.map((path) => JSON.stringify(path)));
  for (const { container, path } of containers(value)) {
    assert.equal(live.isComplete(container), !isOpen.has(JSON.stringify(path)), `${context} isComplete ${path}`);
    for (const key of Object.keys(container)) {
      const inner = JSON.stringify([...path, Array.isArray(container) ? Number(key) : key]);
      assert.equal(live.isComplete(container, key), !isOpen.has(inner), `${context} isComplete ${inner}`);
    }
    assert.equal(live.isComplete(container, "none of the names"), !isOpen.has(JSON.stringify(path)), context);
  }
}

/** Fails unless a value has only grown, as jsonriver promises in its seven invariants, and we do. */
function checkGrowth(before, after, isIdentical) {
  if (before === undefined) return;
  const kind = (value) => (Array.isArray(value) ? "array" : value === null ? "null" : typeof value);
  assert.equal(kind(after), kind(before));
  if (typeof before === "string") assert.ok(after.startsWith(before));
  else if (typeof before !== "object" || before === null) assert.ok(Object.is(after, before));
  else {
    const keys = Object.keys(before);
    assert.deepEqual(Object.keys(after).slice(0, keys.length), keys);
    keys.forEach((key, index) => {
      if (index === keys.length - 1) checkGrowth(before[key], after[key], isIdentical);
      // Only the last member or element changes.
      else if (isIdentical) assert.ok(Object.is(after[key], before[key]), `${key} has another identity`);
      else assert.deepEqual(after[key], before[key]);
    });
  }
}

/** Reads a document in chunks with everything that is to be true of it after each. */
function follow(text, chunks, { Live: Class = Live, inPlace, isOdd, hasEnd = true, freezes = false }) {
  const completed = [];
  const onComplete = (value, path) => completed.push([path, JSON.stringify(value)]);
  const live = new Class({ inPlace, onComplete });
  assert.equal(live.value, undefined);
  assert.equal(live.state, "waiting");
  const handed = [];
  let [last, lastText, root] = [undefined, undefined, undefined];
  chunks.forEach((chunk, index) => {
    live.push(chunk);
    const sofar = textOf(chunks.slice(0, index + 1));
    const expected = certain(sofar);
    const context = `${JSON.stringify(sofar)} of ${JSON.stringify(text)}`;
    const { value, state } = live;
    const shown = JSON.stringify(value);
    if (shown !== JSON.stringify(expected.value)) assert.deepEqual(value, expected.value, context);
    assert.equal(state, value === undefined ? "waiting" : "growing", context);
    assert.deepEqual(completed, expected.completed, context);
    if (value === undefined) return;
    checkCompleteness(live, value, expected.open, context);
    if (inPlace) {
      root ??= value;
      assert.equal(value, root, "it is one object");
      if (!isOdd && lastText !== undefined) checkGrowth(JSON.parse(lastText), JSON.parse(shown), false);
    } else {
      assert.equal(live.value, value, "nothing has changed");
      // A member may be replaced by its equal.
      if (shown === lastText) assert.ok(isOdd || value === last, "nothing has changed");
      else assert.notEqual(value, last, "it has changed");
      if (!isOdd) checkGrowth(last, value, true);
      handed.push({ value, shown, open: expected.open });
      // As stores of immutable state do.
      if (freezes) for (const { container } of containers(value)) Object.freeze(container);
    }
    [last, lastText] = [value, shown];
  });
  if (!hasEnd) return live;
  assert.equal(live.record, undefined);
  live.finish();
  assert.equal(live.state, "complete");
  assert.deepEqual(live.value, JSON.parse(text));
  const whole = certain(`${text}\n`);
  assert.deepEqual(completed, whole.completed);
  assert.equal(live.record.value, live.value);
  assert.equal(live.record.completion, "end_of_input");
  assert.equal(live.record.end - live.record.start, encoder.encode(text).length);
  assert.equal(live.reject, undefined);
  assert.deepEqual({ ...live.report.codes }, {});
  assert.equal(live.report.records, 1);
  assert.equal(live.report.complete, true);
  // What was once complete in a snapshot is; what was not is not, unless nothing has come since.
  const complete = new Map();
  for (const { value, shown, open } of handed) {
    assert.equal(JSON.stringify(value), shown, "a snapshot never changes");
    const wasOpen = new Set(open.map((path) => JSON.stringify(path)));
    for (const { container, path } of containers(value)) {
      const isFinal = !isOdd && at(live.value, path) === container;
      if (!isOdd) assert.equal(live.isComplete(container), isFinal, "one of an earlier snapshot");
      else if (!wasOpen.has(JSON.stringify(path))) assert.ok(live.isComplete(container));
      for (const key of isOdd ? [] : Object.keys(container)) {
        const inner = JSON.stringify([...path, Array.isArray(container) ? Number(key) : key]);
        const isFinalPart = typeof container[key] === "object" && at(live.value, path)?.[key] === container[key];
        const keys = complete.get(container) ?? new Map();
        complete.set(container, keys.set(key, keys.get(key) || isFinal || isFinalPart || !wasOpen.has(inner)));
      }
    }
  }
  for (const [container, keys] of complete) {
    for (const [key, was] of keys) assert.equal(live.isComplete(container, key), was, `${key} of ${JSON.stringify(container)} of ${text}`);
  }
  live.free();
}

test("after each chunk, the value is what is certain", (t) => {
  const numbers = random(1);
  let cuts = 0;
  for (let count = 0; count < DOCUMENTS; count++) {
    const isOdd = count % 3 === 0;
    const text = document(numbers, { odd: isOdd, depth: 1 + numbers.below(5), isTight: count % 2 === 0 });
    const Class = count % 4 === 0 ? calls.Live : Live;
    for (const input of [text, encoder.encode(text)]) {
      for (const inPlace of [false, true]) {
        const chunks = randomPieces(input, numbers);
        if (chunks.length > 300) continue;
        follow(text, chunks, { Live: Class, inPlace, isOdd, freezes: count % 2 === 1 });
        cuts += chunks.length;
      }
    }
  }
  assert.ok(cuts > DOCUMENTS * 10, `${cuts}`);
  t.diagnostic(`${DOCUMENTS} documents, ${cuts} chunks`);
});

const DOCUMENT =
  '{"title":"Soupé\\n\\ud83d\\ude00😀","steps":["Peel",{"minutes":20,"by":["Ann",null]},[],{}],"done":true,"n":-1.5e3,"a":"","日本":{"x":[[[0]]]}}';

test("at every cut in two, in characters and in bytes", () => {
  for (const input of [DOCUMENT, encoder.encode(DOCUMENT)]) {
    for (const inPlace of [false, true]) {
      for (const chunks of halves(input)) follow(DOCUMENT, chunks, { inPlace, isOdd: false });
      for (const size of [1, 2, 3, 7]) follow(DOCUMENT, pieces(input, size), { inPlace, isOdd: false });
    }
  }
});

test("long strings, in pieces and beyond a chunk's room", () => {
  const long = "日本é😀x".repeat(30_000);
  const text = JSON.stringify({ a: long, b: [long.slice(0, 50_000)] });
  for (const input of [text, encoder.encode(text)]) {
    for (const size of [70_001, 1_000_000]) follow(text, pieces(input, size), { inPlace: false, isOdd: false });
    const live = new Live({ inPlace: true });
    for (const chunk of pieces(input, 37)) live.push(chunk);
    live.finish();
    assert.deepEqual(live.value, JSON.parse(text));
  }
});

test("repeated names: the last one counts, at the place of the first, as with JSON.parse", () => {
  const text = '{"a":{"b":1},"c":"x","a":"y","__proto__":1,"__proto__":{"q":[]}}';
  follow(text, [...text], { inPlace: false, isOdd: true });
  const live = new Live();
  live.push('{"a":{"b":1},"c":"x","a":"');
  const { value } = live;
  assert.deepEqual(value, { a: "", c: "x" });
  live.push('y"');
  assert.deepEqual(value, { a: "", c: "x" });
  assert.deepEqual(live.value, { a: "y", c: "x" });
  live.push(',"__proto__":{"polluted":true}}');
  live.finish();
  assert.equal(Object.getPrototypeOf(live.value), Object.prototype);
  assert.ok(Object.hasOwn(live.value, "__proto__"));
  assert.equal({}.polluted, undefined);
});

test("a root that is no object or array comes whole, at the end", () => {
  for (const text of ['"a\\u00e9b"', "12", "-0", "true", "null", '""']) {
    for (const chunks of halves(text)) {
      const completed = [];
      const live = new Live({ onComplete: (value, path) => completed.push([value, path]) });
      for (const chunk of chunks) live.push(chunk);
      // Prose may follow.
      assert.equal(live.value, undefined);
      live.finish();
      assert.deepEqual(live.value, JSON.parse(text));
      assert.equal(live.state, "complete");
      assert.deepEqual(completed, [[JSON.parse(text), []]]);
    }
  }
});

test("a text that was cut off stays as far as it came", () => {
  const numbers = random(2);
  const texts = [DOCUMENT, ...Array.from({ length: EXHAUSTIVE ? 2000 : 100 }, () => document(numbers, { depth: 4 }))];
  for (const text of texts) {
    const end = text === DOCUMENT ? undefined : 1 + numbers.below(text.length - 1);
    for (const cut of end === undefined ? Array(text.length - 1).keys() : [end - 1]) {
      // Also inside characters.
      const sofar = text.slice(0, cut + 1);
      const bytes = encoder.encode(sofar.replace(/[\ud800-\udbff]$/, "😀"));
      const input = cut % 3 > 0 ? sofar : bytes.subarray(0, bytes.length - (/[\ud800-\udbff]$/.test(sofar) ? 1 : 0));
      const live = follow(text, randomPieces(input, numbers), { inPlace: cut % 2 === 0, isOdd: false, hasEnd: false });
      const before = live.value;
      const { value, open } = certain(sofar.replace(/[\ud800-\udbff]$/, ""));
      live.finish();
      const context = JSON.stringify(sofar);
      assert.deepEqual(live.value, value, context);
      assert.equal(live.value, before, context);
      assert.equal(live.state, "rejected", context);
      assert.equal(live.reject.code, "truncated", context);
      assert.equal(live.record, undefined);
      // What follows its first line may be read again.
      assert.ok(live.report.rejected >= 1, context);
      checkCompleteness(live, live.value, open, context);
    }
  }
});

test("what is inside a value that was cut off does not take its place", () => {
  const live = new Live();
  live.push('{\n"a":\n{"c":1}\n,');
  live.finish();
  assert.deepEqual([live.state, live.value, live.reject.code], ["rejected", { a: { c: 1 } }, "truncated"]);
  assert.equal(live.record, undefined);
});

/** The values and states after each character, without those that repeat. */
function steps(text, options) {
  const live = new Live(options);
  const seen = [];
  const see = () => {
    const step = `${live.state} ${JSON.stringify(live.value)}`;
    if (step !== seen.at(-1)) seen.push(step);
  };
  for (const character of text) {
    live.push(character);
    see();
  }
  live.finish();
  see();
  return { seen, live };
}

/** The same in chunks of other sizes ends the same. */
function checkEnd(text, options, { live }) {
  for (const chunks of [[text], ...halves(text), pieces(text, 2), pieces(text, 5)]) {
    const other = new Live(options);
    for (const chunk of chunks) other.push(chunk);
    other.finish();
    const end = ({ value, state, record, reject, report }) => ({ value, state, record, reject, report: { ...report } });
    assert.deepEqual(end(other), end(live), JSON.stringify(chunks));
  }
}

test("prose before and after, and code fences", () => {
  const inside = ["growing {}", 'growing {"a":""}', 'growing {"a":"x"}', 'growing {"a":"xy"}'];
  for (const [text, completion, recovered] of [
    ['Sure, here it is:\n{"a":"xy"}\nAnything else?', "newline", undefined],
    ['Sure, here it is: {"a":"xy"}. Anything else?', "text", ["prose"]],
    ['```json\n{"a":"xy"}\n```\n', "newline", ["fence"]],
    ['Sure:\n\n```\n{"a":"xy"}\n```\nThat is [1] all.', "newline", ["fence"]],
    ['<think>{"no":1}</think>\n{"a":"xy"}\n', "newline", undefined],
  ]) {
    const { seen, live } = steps(text);
    assert.deepEqual(seen, ["waiting undefined", ...inside, 'complete {"a":"xy"}'], text);
    assert.equal(live.record.completion, completion, text);
    assert.deepEqual(live.record.recovered, recovered, text);
    assert.equal(live.report.rejected, 0, text);
    checkEnd(text, {}, { live });
  }
});

test("prose that looks like a record is given up", () => {
  const text = 'The set {x} is written {"a":[1]} here';
  const { seen, live } = steps(text);
  assert.deepEqual(seen, [
    "waiting undefined",
    "growing {}",
    "waiting undefined",
    "growing {}",
    'growing {"a":[]}',
    'growing {"a":[1]}',
    'complete {"a":[1]}',
  ]);
  assert.equal(live.reject, undefined);
  checkEnd(text, {}, { live });
});

test("the first record is the value; what follows is counted", () => {
  for (const text of ['{"a":1}\n{"b":2}\n', '{"a":1}{"b":2}', '{"a":1}\n{"b":2', '{"a":1}\n{"b" 2}\n', "{\"a\":1}\n[2][3\n"]) {
    const paths = [];
    const { live } = steps(text, { onComplete: (_value, path) => paths.push(path.join("/")) });
    assert.equal(live.state, "complete", text);
    assert.deepEqual(live.value, { a: 1 }, text);
    assert.equal(live.record.value, live.value, text);
    assert.equal(live.reject, undefined, text);
    assert.deepEqual(paths, ["a", ""], "only of the value");
    checkEnd(text, {}, { live });
  }
});

test("a rejected record makes way for the next", () => {
  const text = '{"a":[1,"x" oops]}\n{"a":["y"]}\n';
  const { seen, live } = steps(text);
  assert.deepEqual(seen.slice(-6), [
    "rejected undefined",
    "growing {}",
    'growing {"a":[]}',
    'growing {"a":[""]}',
    'growing {"a":["y"]}',
    'complete {"a":["y"]}',
  ]);
  assert.equal(live.reject, undefined);
  assert.equal(live.report.codes.malformed_json, 1);
  checkEnd(text, {}, { live });
  const { live: rejected } = steps('{"a":[1,"x" oops]}\n{"b":"z');
  assert.deepEqual([rejected.state, rejected.value, rejected.reject.code], ["rejected", { b: "z" }, "truncated"]);
  checkEnd('{"a":[1,"x" oops]}\n{"b":"z', {}, { live: rejected });
  // In one chunk, too, the value that grows is not the rejected one.
  const live2 = new Live();
  live2.push('{"a":[1,"x" oops]}\n{"b":"z');
  assert.deepEqual([live2.state, live2.value, live2.reject], ["growing", { b: "z" }, undefined]);
});

test("what has not come is not complete", () => {
  for (const inPlace of [false, true]) {
    const live = new Live({ inPlace });
    assert.equal(live.isComplete(live.value), false);
    live.push('{"a":1');
    assert.equal(live.isComplete(live.value.items), false);
    assert.equal(live.isComplete(null, "a"), false);
  }
});

test("a root array", () => {
  const { seen } = steps('[{"a":1},[2,"x"],null]\n');
  assert.deepEqual(seen, [
    "growing []",
    "growing [{}]",
    'growing [{"a":1}]',
    'growing [{"a":1},[]]',
    'growing [{"a":1},[2]]',
    'growing [{"a":1},[2,""]]',
    'growing [{"a":1},[2,"x"]]',
    'growing [{"a":1},[2,"x"],null]',
    'complete [{"a":1},[2,"x"],null]',
  ]);
});

for (const [name, text, options] of [
  ["lines", '{"a":"x"}\n{"a":"yz"}\n{"b":[1]}\n', { list: true }],
  ["an array", '[{"a":"x"},\n {"a":"yz"},\n {"b":[1]}]', { list: true }],
  ["items", '{"status":"ok","data":[{"a":"x"},{"a":"yz"},{"b":[1]}],"more":2}', { list: true, items: "/data" }],
]) {
  test(`a list of records: ${name}`, () => {
    for (const inPlace of [false, true]) {
      const completed = [];
      const onComplete = (value, path) => completed.push([path.join("/"), JSON.stringify(value)]);
      const { seen, live } = steps(text, { ...options, inPlace, onComplete });
      const values = [...new Set(seen.map((step) => step.slice(step.indexOf(" ") + 1)))];
      assert.deepEqual(values, [
        "[]",
        "[{}]",
        '[{"a":""}]',
        '[{"a":"x"}]',
        '[{"a":"x"},{}]',
        '[{"a":"x"},{"a":""}]',
        '[{"a":"x"},{"a":"y"}]',
        '[{"a":"x"},{"a":"yz"}]',
        '[{"a":"x"},{"a":"yz"},{}]',
        '[{"a":"x"},{"a":"yz"},{"b":[]}]',
        '[{"a":"x"},{"a":"yz"},{"b":[1]}]',
      ].slice(name === "lines" ? 1 : 0));
      assert.equal(live.state, "complete");
      assert.deepEqual(completed.map(([path]) => path), ["0/a", "0", "1/a", "1", "2/b/0", "2/b", "2"]);
      assert.equal(live.record.value, live.value[2]);
      assert.equal(live.report.records, 3);
      checkEnd(text, { ...options, inPlace }, { live });
    }
  });
}

test("a list keeps its elements' identity, and its snapshots do not change", () => {
  const live = new Live({ list: true });
  const handed = [];
  for (const character of '{"a":"xy","b":{"c":[1]}}\n{"bad" 1}\n{"a":{"z":2}}\n{x} or so\n{"a":"cut') {
    live.push(character);
    const { value } = live;
    assert.equal(live.value, value);
    handed.push({ value, shown: JSON.stringify(value), completeness: value.map((element) => live.isComplete(element)) });
    value.forEach((element, index) => {
      if (index < value.length - 1) assert.ok(live.isComplete(element) && live.isComplete(value, index));
    });
    assert.equal(live.isComplete(value), false, "more may follow");
  }
  for (const { value, shown } of handed) assert.equal(JSON.stringify(value), shown);
  assert.deepEqual(live.value, [{ a: "xy", b: { c: [1] } }, { a: { z: 2 } }, { a: "cut" }]);
  const [first, second] = live.value;
  assert.equal(live.isComplete(live.value, 2), false);
  assert.equal(live.isComplete(live.value[2]), false);
  live.finish();
  assert.deepEqual(live.value, [{ a: "xy", b: { c: [1] } }, { a: { z: 2 } }]);
  assert.ok(live.value[0] === first && live.value[1] === second);
  assert.equal(live.isComplete(live.value), true);
  assert.equal(live.state, "complete");
  assert.equal(live.reject.code, "truncated");
});

test("an empty list, and a list of nothing", () => {
  for (const text of ["[]", "", "Nothing to say."]) {
    const { live } = steps(text, { list: true });
    assert.deepEqual(live.value, []);
    assert.equal(live.state, "waiting");
  }
  const { live } = steps('{"data":[]}', { list: true, items: "/data" });
  assert.deepEqual(live.value, []);
});

test("`items` without a list: the first element", () => {
  const { seen, live } = steps('{"data":[{"a":"x"},{"a":"y"}]}', { items: "/data" });
  assert.deepEqual(seen, ["waiting undefined", "growing {}", 'growing {"a":""}', 'growing {"a":"x"}', 'complete {"a":"x"}']);
  assert.equal(live.report.records, 2);
});

test("in place, what the user does to the value stays with the user", () => {
  const live = new Live({ inPlace: true });
  live.push('{"a":["x","y');
  live.value.a.length = 0;
  live.value.b = 1;
  live.push('z","w"],"c":{"d":"');
  live.push('e"}}');
  live.finish();
  assert.deepEqual(live.value.c, { d: "e" });
  assert.equal(live.value.b, 1);
});

test("an error in `onComplete` is thrown where the chunk is pushed", () => {
  const live = new Live({
    onComplete() {
      throw new Error("of the user");
    },
  });
  live.push('{"a":');
  assert.throws(() => live.push('1,"b":[2,3],"c":"x'), /of the user/);
  assert.deepEqual(live.value, { a: 1, b: [2, 3], c: "x" });
});

test("callbacks may use other parsers, and read the value, but not push", () => {
  const seen = [];
  const first = new Live({
    onComplete(_value, path) {
      const other = new Live();
      // The memory of the module grows.
      other.push(`{"b":${JSON.stringify("x".repeat(3_000_000))}`);
      other.finish();
      seen.push([path.join("/"), JSON.stringify(first.value)]);
      if (path.length === 0) first.free();
      else assert.throws(() => first.push("x"), { code: "reentrant" });
    },
  });
  first.push('{"a":1,"b":["x","y"],"c":"z"}\n');
  assert.deepEqual(seen.map(([path]) => path), ["a", "b/0", "b/1", "b", "c", ""]);
  assert.equal(seen.at(-1)[1], '{"a":1,"b":["x","y"],"c":"z"}');
});

test("a stream of values ends with the whole, and each is a snapshot", async () => {
  const numbers = random(3);
  for (let count = 0; count < 60; count++) {
    const text = document(numbers, { depth: 4 });
    const chunks = randomPieces(text, numbers);
    const stream = live(chunks);
    const handed = [];
    for await (const value of stream) {
      handed.push([value, JSON.stringify(value)]);
      assert.equal(stream.value, value);
      for (const { container } of containers(value)) stream.isComplete(container);
    }
    for (const [value, shown] of handed) assert.equal(JSON.stringify(value), shown);
    assert.deepEqual(handed.at(-1)[0], JSON.parse(text));
    assert.equal(stream.value, handed.at(-1)[0]);
    assert.equal(new Set(handed.map(([value]) => value)).size, handed.length, "each is another");
    assert.equal(stream.state, "complete");
    assert.equal(stream.record.value, stream.value);
  }
});

test("a stream of a large array in small chunks copies no more than it reads", async () => {
  const all = Array.from({ length: 4000 }, (_, index) => ({ index, name: `the name of ${index}` }));
  const text = JSON.stringify({ all });
  const began = performance.now();
  const reading = new Live({ inPlace: true });
  for (const chunk of pieces(text, 4)) reading.push(chunk);
  const took = performance.now() - began;
  let shown = 0;
  let last;
  const started = performance.now();
  for await (const value of live(pieces(text, 4))) {
    shown++;
    last = value;
  }
  const streamed = performance.now() - started;
  assert.deepEqual(last, { all });
  assert.ok(shown > 1000, `${shown}`);
  assert.ok(streamed < 20 * took + 1000, `${streamed} ms, ${took} ms in place`);
});

test("a stream shows no value that was given up, and says at the end what has become of it", async () => {
  const seen = [];
  const stream = live(["a set {", "x} of ", '{"a":"', 'x","b" 1}\n']);
  for await (const value of stream) seen.push(JSON.stringify(value));
  assert.deepEqual(seen, ["{}", '{"a":""}']);
  assert.deepEqual([stream.state, stream.value, stream.reject.code], ["rejected", undefined, "malformed_json"]);
});

test("in place, a stream shows the same object after each chunk", async () => {
  const seen = [];
  for await (const value of live([" ", '{"a":', '"x', 'y"}'], { inPlace: true })) seen.push([value, JSON.stringify(value)]);
  assert.deepEqual(seen.map(([, text]) => text), ["{}", '{"a":"x"}', '{"a":"xy"}', '{"a":"xy"}']);
  assert.equal(new Set(seen.map(([value]) => value)).size, 1);
});

// Where they differ: jsonriver shows the first half of a surrogate pair that is escaped or at the end of a chunk, which is
// no text yet; and a root that is a string or number grows or ends as it does inside a container.
test("jsonriver, as a peer, has the same value after the same text", async (t) => {
  const numbers = random(4);
  let [compared, differences] = [0, 0];
  for (let count = 0; count < DOCUMENTS; count++) {
    const text = document(numbers, { depth: 4, odd: count % 3 === 0 });
    const chunks = randomPieces(text, numbers).filter((chunk) => chunk.length > 0);
    let read = 0;
    const source = async function* () {
      for (const chunk of chunks) {
        read++;
        yield chunk;
      }
    };
    const ours = new Live();
    let pushed = 0;
    for await (const value of jsonriver(source())) {
      while (pushed < read) ours.push(chunks[pushed++]);
      const shown = JSON.stringify(value);
      if (shown === JSON.stringify(ours.value)) compared++;
      else {
        const sofar = chunks.slice(0, read).join("");
        const isHalf = /[\ud800-\udbff]$/.test(sofar) || /\\u[dD][89aAbB][0-9a-fA-F]{2}(\\(u[0-9a-fA-F]{0,3})?)?$/.test(sofar);
        assert.ok(isHalf, `${JSON.stringify(sofar)}: ${shown}, ours ${JSON.stringify(ours.value)}`);
        differences++;
      }
    }
  }
  assert.ok(compared > DOCUMENTS * 3, `${compared}`);
  t.diagnostic(`${compared} values are the same, ${differences} end in half a character`);
});
