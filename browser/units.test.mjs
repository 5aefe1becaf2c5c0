// The page's parts that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { SseDecoder } = await load("sse.js");
const { compact, members, pretty, splitValue } = await load("json.js");
const { State } = await load("state.js");
const { Growth } = await load("growth.js");
const { problemOfSchema, problemOfTools } = await load("checks.js");

test("events, wherever the bytes are cut", () => {
  const stream = 'id: 1\nevent: start\ndata: {"a":"\u00e9\u{1f600}"}\n\n: comment\n\nid:2\r\nevent:delta\r\ndata:{}\r\n\r\nid: 3\ndata: a\ndata: b\n\nid: 4\nevent: open\n';
  const bytes = new TextEncoder().encode(stream);
  const expected = [
    { id: 1, event: "start", data: '{"a":"\u00e9\u{1f600}"}' },
    { id: 2, event: "delta", data: "{}" },
    { id: 3, event: "", data: "a\nb" },
  ];
  for (let size = 1; size <= bytes.length; size += 1) {
    const decoder = new SseDecoder();
    const events = [];
    for (let at = 0; at < bytes.length; at += size) events.push(...decoder.push(bytes.slice(at, at + size)));
    assert.deepEqual(events, expected, `${size} bytes a chunk`);
  }
});

test("the value of an event is its text", () => {
  const data = '{"index":0,"code":"a \\"value\\": }","value":{"n": 1.00, "value": "}"}}';
  assert.deepEqual(splitValue(data), { head: { index: 0, code: 'a "value": }' }, raw: '{"n": 1.00, "value": "}"}' });
  assert.deepEqual(splitValue('{"value":-0}'), { head: {}, raw: "-0" });
  assert.deepEqual(splitValue('{"op":"close"}'), { head: { op: "close" }, raw: undefined });
});

test("members, compact and pretty", () => {
  assert.deepEqual(members('{ "a" : [1, "]\\\\"] , "__proto__":{} ,"b\\u0041":-1e5}', 9), [
    ["a", '[1, "]\\\\"]'],
    ["__proto__", "{}"],
    ["bA", "-1e5"],
  ]);
  assert.equal(members('{"a":1,"b":2}', 1).length, 1);
  assert.equal(compact('{ "a b" :[ 1,\n2 ] }', 99), '{"a b": [1, 2]}');
  assert.equal(pretty('{"a":[1,{}],"b":"un', 99), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": "un');
  // Depth and length are no trouble.
  const deep = "[".repeat(200_000);
  assert.ok(pretty(deep, 500).length < 50_000);
  assert.ok(compact(deep, 100).length < 200);
});

test("a record grows to the text that it is in the end", () => {
  const growth = new Growth(0);
  const steps = [
    { op: "open", depth: 1, key: "s", kind: "string" },
    { op: "append", depth: 1, key: "s", text: 'a"' },
    { op: "close", depth: 1, key: "s" },
    { op: "set", depth: 1, key: "n", raw: "1.0" },
    { op: "open", depth: 1, key: "o", kind: "object" },
    { op: "open", depth: 2, key: "l", kind: "array" },
    { op: "set", depth: 3, key: 0, raw: "1" },
    { op: "open", depth: 3, key: 1, kind: "string" },
    { op: "append", depth: 3, key: 1, text: 'x"y' },
    { op: "close", depth: 3, key: 1 },
  ];
  const texts = (growth) => [...growth.members].map(([key, { text }]) => [key, text]);
  for (const { raw, ...step } of steps) growth.step(step, raw);
  assert.deepEqual(texts(growth), [["s", 'a"'], ["n", "1.0"], ["o", '{"l": [1, "x\\"y"']]);
  // As over a reload.
  const restored = Growth.from(JSON.parse(JSON.stringify(growth)));
  const rest = [{ op: "close", depth: 2, key: "l" }, { op: "set", depth: 2, key: "m", raw: "null" }, { op: "close", depth: 1, key: "o" }];
  for (const { raw, ...step } of rest) restored.step(step, raw);
  assert.equal(texts(restored)[2][1], '{"l": [1, "x\\"y"], "m": null}');
});

test("an event that was applied changes nothing, and a state survives being saved", () => {
  const events = [
    ["start", { run: "r", kind: "records", model: "m", provider: "p" }],
    ["delta", { kind: "text", text: "abc", elapsed_ms: 5 }],
    ["partial", { op: "open", start: 0, depth: 0, kind: "object" }],
    ["record", { index: 0, line: 1, start: 0, end: 7, elapsed_ms: 9, value: { a: 1 } }],
    ["rejected", { code: "c", line: 2, start: 8, end: 9 }],
    ["partial", { op: "open", start: 10, depth: 0, kind: "object" }],
    ["partial", { op: "open", start: 10, depth: 1, key: "s", kind: "string" }],
    ["partial", { op: "append", start: 10, depth: 1, key: "s", text: "x" }],
  ].map(([event, data], at) => ({ id: at + 1, event, data: JSON.stringify(data) }));
  const state = new State();
  for (const event of [...events, ...events]) state.apply(event);
  const restored = State.restore(JSON.parse(JSON.stringify(state.save())));
  for (const its of [state, restored]) {
    for (const event of events) its.apply(event);
    assert.equal(its.rows.items.length, 1);
    assert.equal(its.rejected.items.length, 1);
    assert.equal(its.text.total, 3);
    assert.equal(its.open.members.get("s").text, "x");
    assert.equal(its.log.size, 1);
    assert.equal(its.figures.firstRecord, 9);
  }
});

test("a gap closes what cannot grow on", () => {
  const state = new State();
  state.apply({ id: 1, event: "partial", data: '{"op":"open","start":0,"depth":0,"kind":"object"}' });
  state.apply({ id: 8, event: "gap", data: '{"from":2,"to":8}' });
  state.apply({ id: 9, event: "partial", data: '{"op":"append","start":0,"depth":1,"key":"a","text":"x"}' });
  assert.equal(state.open, null);
  state.apply({ id: 10, event: "record", data: '{"index":4,"start":0,"value":{"a":"yx"}}' });
  assert.equal(state.figures.records, 5);
});

test("texts side by side do not mix", () => {
  const state = new State();
  let id = 0;
  const apply = (event, data) => state.apply({ id: (id += 1), event, data: JSON.stringify(data) });
  const grow = (choice, key, text) => {
    apply("partial", { choice, op: "open", start: 0, depth: 0, kind: "object" });
    apply("partial", { choice, op: "open", start: 0, depth: 1, key, kind: "string" });
    apply("partial", { choice, op: "append", start: 0, depth: 1, text });
  };
  grow(0, "zero", "a");
  grow(1, "one", "b");
  assert.deepEqual([...state.open.members.keys()], ["one"]);
  apply("partial", { choice: 0, op: "append", start: 0, depth: 1, text: "c" });
  assert.equal(state.open.members.get("zero").text, "ac");
  const restored = State.restore(JSON.parse(JSON.stringify(Object.assign(state, { run: "r" }).save())));
  assert.deepEqual([...restored.opens.keys()], ["1/0", "0/0"]);
  apply("rejected", { choice: 1, code: "truncated", line: 1, column: 1, start: 0, end: 9, message: "" });
  assert.deepEqual([...state.opens.keys()], ["0/0"]);
  apply("record", { index: 0, start: 0, value: { zero: "ac" } });
  assert.equal(state.open, null);
  // Another block of the same choice has offsets of its own.
  grow(0, "ghost", "x");
  apply("record", { block: 1, index: 1, start: 0, value: { a: 1 } });
  assert.notEqual(state.rows.items[1].at, state.open.at);
  // Calls are numbered in their choice.
  apply("partial", { call: 1, name: "a" });
  apply("partial", { choice: 1, call: 1, name: "b" });
  apply("tool_call", { choice: 1, call: 1, value: { name: "b", parameters: {} } });
  assert.deepEqual(state.calls.items.map(({ name, state }) => [name, state]), [["a", "open"], ["b", "complete"]]);
});

test("mistakes in a schema or in tools are said", () => {
  assert.equal(problemOfSchema('{"a": 1}'), "");
  assert.match(problemOfSchema("[]"), /must be an object/);
  assert.match(problemOfSchema('{\n"a": 1,\n}'), /^Not valid JSON at line 3, column 1: expected double-quoted property name\.$/);
  assert.match(problemOfSchema('{"a"'), /^Not valid JSON at line 1(, column 5)?: /);
  assert.match(problemOfTools('[{"description": "x"}]'), /Tool 1 must be an object with a "name"/);
  assert.equal(problemOfTools('[{"type": "function", "function": {"name": "f"}}]'), "");
});
