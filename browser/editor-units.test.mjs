// The parts of the wide editor that need no browser: what can stand at the caret, and a schema of records.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

// On the page they are modules by their tag, here by a package.json beside them.
const folder = mkdtempSync(path.join(tmpdir(), "tokenline-editor-"));
after(() => rmSync(folder, { recursive: true }));
cpSync(process.env.PAGE_ASSETS || path.resolve("../crates/tokenline-cli/src/serve/assets"), folder, { recursive: true });
writeFileSync(path.join(folder, "package.json"), '{"type": "module"}');
const load = (name) => import(pathToFileURL(path.join(folder, name)).href);
const { complete } = await load("completion.js");
const { inferSchema, inferTools } = await load("infer.js");
const { tree } = await load("json-tree.js");

/** What is suggested at the bar in the text. */
function at(marked, kind = "schema") {
  const caret = marked.indexOf("|");
  const text = marked.slice(0, caret) + marked.slice(caret + 1);
  const found = complete(text, caret, kind);
  const labels = found?.items.map(({ label }) => label) ?? [];
  const take = (label) => {
    const { text: its, caret: inside } = found.items.find((item) => item.label === label);
    const whole = text.slice(0, found.from) + its + text.slice(found.to);
    return `${whole.slice(0, found.from + inside)}|${whole.slice(found.from + inside)}`;
  };
  return { labels, take };
}

test("a text that is being written is a tree", () => {
  const shape = (node, text) => {
    if (node === null) return null;
    if (node.kind === "object") return Object.fromEntries([...node.members].map(([key, value]) => [key, shape(value, text)]));
    return node.kind === "array" ? node.elements.map((element) => shape(element, text)) : text.slice(node.start, node.end);
  };
  const of = (text) => shape(tree(text).root, text);
  assert.deepEqual(of('{"a": [1, {"b\\u0041": "x\\"]"}], "c": -1.0e5}'), { a: ["1", { bA: '"x\\"]"' }], c: "-1.0e5" });
  // Missing: a bracket, a comma, a colon, a quote, a value; too much: a bracket.
  assert.deepEqual(of('{"a": [1, 2'), { a: ["1", "2"] });
  assert.deepEqual(of('{"a": 1 "b": 2}'), { a: "1", b: "2" });
  assert.deepEqual(of('{"ty\n "b": {"c": 1}}'), { b: { c: "1" } });
  assert.deepEqual(of('{"a": {"b": "x}, 2\n, "c": 1}'), { a: { b: '"x' }, c: "1" });
  assert.deepEqual(of('{"a": , "b": 2}'), { b: "2" });
  assert.deepEqual(of('{"a": [1}, "b": 2}'), { a: ["1"] });
  assert.deepEqual(of('{"a": 1], "b": 2}'), { a: "1", b: "2" });
  assert.equal(of("  "), null);
  assert.equal(tree('{"__proto__": {"x": 1}}').root.members.get("__proto__").kind, "object");
});

test("keywords where a member of a schema begins", () => {
  assert.deepEqual(at("{|}").labels.slice(0, 3), ["type", "description", "enum"]);
  assert.ok(at("{|}").labels.length > 50);
  assert.deepEqual(at('{"minL|').labels, ["minLength"]);
  assert.deepEqual(at('{"LENGTH|').labels, ["minLength", "maxLength"]);
  // Not what is there already, and first what the type is about.
  assert.ok(!at('{"type": "array", "|"}').labels.includes("type"));
  const forArrays = at('{"type": "array", "|"}').labels;
  assert.ok(forArrays.indexOf("items") < forArrays.indexOf("minLength"));
  assert.ok(forArrays.indexOf("items") < forArrays.indexOf("properties"));
  // In each schema inside a schema, and in nothing else.
  for (const before of ['{"items": {', '{"properties": {"a": {', '{"$defs": {"a": {"not": {', '{"anyOf": [{}, {', '{"additionalProperties": {']) {
    assert.deepEqual(at(`${before}"patternP|`).labels, ["patternProperties"], before);
  }
  for (const before of ['{"properties": {', '{"enum": [{', '{"const": {', '{"default": {"items": {', '{"unknown": {', '{"type": {']) {
    assert.deepEqual(at(`${before}"ty|`).labels, [], before);
  }
});

test("a keyword comes with what its value begins with", () => {
  assert.equal(at("{|}").take("type"), '{"type": "|"}');
  assert.equal(at('{"prop|"}').take("properties"), '{"properties": {|}}');
  assert.equal(at('{"minL|, "type": "string"}').take("minLength"), '{"minLength": |, "type": "string"}');
  assert.equal(at('{"items": {"minL|}}').take("minLength"), '{"items": {"minLength": |}}');
  assert.equal(at('{"req|\n}').take("required"), '{"required": [|]\n}');
  assert.equal(at('{"minL|"}').take("minLength"), '{"minLength": |}');
  // The colon and the value that follow stay, and what comes next is another member.
  assert.equal(at('{"t|": "object"}').take("type"), '{"type"|: "object"}');
  assert.equal(at('{"ty|\n"items": {}}').take("type"), '{"type": "|",\n"items": {}}');
});

test("values of keywords", () => {
  assert.deepEqual(at('{"type": |').labels, ["string", "number", "integer", "boolean", "object", "array", "null"]);
  assert.deepEqual(at('{"type": "n|"}').labels, ["number", "null"]);
  assert.equal(at('{"type": "n|"}').take("null"), '{"type": "null"|}');
  assert.equal(at('{"type": obj|}').take("object"), '{"type": "object"|}');
  assert.deepEqual(at('{"type": ["string", "n|"]}').labels, ["number", "null"]);
  assert.deepEqual(at('{"type": ["null", "n|"]}').labels, ["number"]);
  assert.deepEqual(at('{"items": {"format": "date|"}}').labels, ["date", "date-time"]);
  assert.deepEqual(at('{"uniqueItems": |}').labels, ["true", "false"]);
  assert.deepEqual(at('{"additionalProperties": |}').labels, ["false", "true", "{}"]);
  assert.equal(at('{"allOf": |}').take("[]"), '{"allOf": [|]}');
  // Nothing to say, nothing to add, and no place for a value.
  for (const text of ['{"minLength": |}', '{"description": "s|"}', '{"enum": ["s|"]}', '{"type": "string"|}', '{"type"| }', '{"type": "string|"}', "{} |"]) {
    assert.deepEqual(at(text).labels, [], text);
  }
});

test("names of properties, and references to definitions", () => {
  const schema = (required) => `{"required": [${required}], "properties": {"id": {}, "name": {"properties": {"first": {}}}}}`;
  assert.deepEqual(at(schema("|")).labels, ["id", "name"]);
  assert.deepEqual(at(schema('"id", "|"')).labels, ["name"]);
  assert.deepEqual(at('{"properties": {"a": {"required": ["|"], "properties": {"b": {}}}}}').labels, ["b"]);
  assert.deepEqual(at('{"properties": {"required": ["|"]}}').labels, []);
  const defs = '"$defs": {"a/b~": {}, "c d": {}}, "definitions": {"old": {}}';
  assert.deepEqual(at(`{${defs}, "items": {"$ref": "|"}}`).labels, ["#/$defs/a~1b~0", "#/$defs/c%20d", "#/definitions/old", "#"]);
  assert.equal(at(`{"$ref": "#/d|", ${defs}}`).take("#/definitions/old"), `{"$ref": "#/definitions/old"|, ${defs}}`);
});

test("tools, in the shapes of their providers", () => {
  const tools = (marked) => at(marked, "tools");
  assert.deepEqual(tools('[{"na|"}]').labels, ["name"]);
  assert.deepEqual(tools("[{|}]").labels.slice(0, 3), ["name", "description", "parameters"]);
  assert.deepEqual(tools('[{"name": "f", "parameters": {}, "|"}]').labels, ["description", "strict", "type"]);
  assert.deepEqual(tools('[{"type": "function", "function": {"|"}}]').labels, ["name", "description", "parameters", "strict"]);
  assert.deepEqual(tools('[{"type": "f|"}]').labels, ["function"]);
  for (const before of ['[{"parameters": {', '[{"function": {"parameters": {', '[{"input_schema": {', '[{}, {"parameters": {"properties": {"q": {']) {
    assert.deepEqual(tools(`${before}"patternP|`).labels, ["patternProperties"], before);
  }
  assert.deepEqual(tools('[{"name": "f", "description": {"ty|').labels, []);
  // Each tool has definitions of its own.
  const two = '[{"parameters": {"$defs": {"other": {}}}}, {"parameters": {"$defs": {"own": {}}, "items": {"$ref": "|"}}}]';
  assert.deepEqual(tools(two).labels, ["#/$defs/own", "#"]);
  assert.equal(tools("|").take("[{}]"), "[{|}]");
});

test("suggestions take time in proportion to the text", () => {
  const texts = (size) => [
    `{"description": "${"\\n".repeat(size / 2)}", "`,
    `{"a": ${"[".repeat(size / 2)}${"}".repeat(size / 2)}`,
    `{"a": ${'{"a":'.repeat(size / 5)}`,
    `${'"'.repeat(size)}`,
    `"${'\\"'.repeat(size / 2)}`,
    `${'"\n'.repeat(size / 2)}`,
    `{"required": [${'"a",'.repeat(size / 8)}"|"], "properties": {${'"a": 1,'.repeat(size / 14)}`,
  ];
  // The largest text of the server. A quadratic search of it takes minutes.
  for (const text of texts(256 * 1024)) {
    const start = performance.now();
    complete(text, text.length, "schema");
    const time = performance.now() - start;
    assert.ok(time < 1500, `${text.slice(0, 20)}: ${time} ms`);
  }
});

const schemaOf = (...records) => JSON.parse(inferSchema(records.map((record) => (typeof record === "string" ? record : JSON.stringify(record)))).text);

test("a schema of records: types, and what all of them have", () => {
  assert.deepEqual(schemaOf({ a: 1, b: "x", c: null }, { a: 2, b: null, d: true }), {
    type: "object",
    properties: { a: { type: "integer" }, b: { type: ["string", "null"] }, c: { type: "null" }, d: { type: "boolean" } },
    required: ["a", "b"],
  });
  // By the literal: 1.0 is written by who means a number.
  assert.deepEqual(schemaOf("[1, 2]").items, { type: "integer" });
  for (const list of ["[1, 2.5]", "[1.0, 2.0]", "[1e3]"]) assert.deepEqual(schemaOf(list).items, { type: "number" }, list);
  assert.deepEqual(schemaOf("[123456789012345678901234567890]").items, { type: "integer" });
  assert.deepEqual(schemaOf({ list: [{ a: 1 }, { a: 2, b: "x" }] }, { list: [] }).properties.list, {
    type: "array",
    items: { type: "object", properties: { a: { type: "integer" }, b: { type: "string" } }, required: ["a"] },
  });
  assert.deepEqual(schemaOf({ list: [] }).properties.list, { type: "array" });
  // One of the objects of a place lacks what the others have, also if that place has other types, too.
  assert.deepEqual(schemaOf({ o: { a: 1 } }, { o: "text" }, { o: {} }).properties.o, {
    type: ["object", "string"],
    properties: { a: { type: "integer" } },
  });
  assert.deepEqual(inferSchema([]), { text: "{}", remarks: [] });
});

test("an enum only for few texts that come again and again", () => {
  const values = (...list) => schemaOf(...list.map((k) => ({ k }))).properties.k;
  const eight = ["a", "b", "a", "b", "a", "b", "a", "b"];
  assert.deepEqual(values(...eight), { type: "string", enum: ["a", "b"] });
  assert.deepEqual(values(...eight, null), { type: ["string", "null"], enum: ["a", "b", null] });
  assert.deepEqual(values(...eight.slice(1)), { type: "string" }, "seven values");
  assert.deepEqual(values(...eight, "c"), { type: "string" }, "one that comes once");
  assert.deepEqual(values(..."abcdefabcdef"), { type: "string" }, "six texts");
  assert.deepEqual(values(..."aaaaaaaa"), { type: "string" }, "the same text");
  assert.deepEqual(values(...eight, 1), { type: ["string", "integer"] }, "not only texts");
  const long = "x".repeat(41);
  assert.deepEqual(values(...eight, long, long), { type: "string" }, "a long text");
});

test("a format only if all texts have it", () => {
  const format = (...list) => schemaOf(...list.map((k) => ({ k }))).properties.k.format;
  assert.equal(format("2024-02-29", "2025-01-31"), "date");
  assert.equal(format("2024-02-29", "2025-02-30"), undefined, "a day that there is not");
  assert.equal(format("2024-02-29"), undefined, "one text alone");
  assert.equal(format("2024-02-29", "2024-02-29", "soon"), undefined);
  assert.equal(format("2024-02-29T23:59:59Z", "2024-02-29t01:00:00.25+05:30"), "date-time");
  assert.equal(format("2024-02-29T23:59:59", "2024-02-29T23:59:59"), undefined, "no offset");
  assert.equal(format("a@example.org", "b.c+d@mail.example.org"), "email");
  assert.equal(format("a@b", "c@d"), undefined);
  assert.equal(format("https://example.org/a?b=c#d", "urn://x"), "uri");
  assert.equal(format("note: this", "https://example.org"), undefined);
  assert.equal(format("https://example.org/a b", "https://example.org"), undefined);
});

test("what is not uniform among the records is said", () => {
  const remarks = (...records) => inferSchema(records.map((record) => JSON.stringify(record))).remarks;
  const days = Array.from({ length: 8 }, (_, at) => ({ total: at < 7 ? at + 0.5 * (at % 2) : "7", date: `2024-01-0${at + 1}`, items: [{ n: 1 }] }));
  assert.deepEqual(remarks(...days.slice(0, 7)), [], "integers are numbers");
  assert.deepEqual(remarks(...days, { total: "8", items: [{ n: null }, 2] }), [
    "total: 2 strings, 7 numbers",
    "date: missing in 1 of 9",
    "items[]: 9 objects, 1 integer",
    "items[].n: 8 integers, 1 null",
  ]);
  assert.deepEqual(remarks(...days.slice(0, 4).map(({ date }) => ({ date })), { date: "May 4" }), ["date: 4 of 5 strings have the format date"]);
  assert.deepEqual(remarks({ date: "2024-01-01" }, { date: "May" }), [], "half is no rule");
  assert.deepEqual(remarks({ a: 1 }, []), ["records: 1 object, 1 array"]);
  // Bounded.
  const many = (value) => Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, value]));
  assert.equal(remarks(many(1), many("x")).length, 50);
  const { remarks: its } = inferTools(['{"name": "f", "parameters": {"q": "x"}}', '{"name": "f", "parameters": {"q": 1}}']);
  assert.deepEqual(its, ["f.q: 1 string, 1 integer"]);
});

test("hostile and huge records give a schema, too", () => {
  const { text: schema } = inferSchema(['{"__proto__": {"a": 1}, "constructor": "x", "</script>\\n": [true]}']);
  assert.match(schema, /"__proto__": \{\n/);
  const { properties } = JSON.parse(schema);
  assert.deepEqual(Object.keys(properties), ["__proto__", "constructor", "</script>\n"]);
  const deep = schemaOf(`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`);
  let depth = 0;
  for (let its = deep; its.properties; its = its.properties.a) depth += 1;
  assert.equal(depth, 8);
  const wide = schemaOf(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, at])));
  assert.equal(Object.keys(wide.properties).length, 100);
  // Of many records, the first 500.
  const many = schemaOf(...Array.from({ length: 501 }, (_, at) => (at < 500 ? { a: 1 } : {})));
  assert.deepEqual(many.required, ["a"]);
});

test("tools of calls", () => {
  const calls = ['{"name": "f", "parameters": {"q": "x"}}', '{"name": "g", "call_id": "1", "parameters": {}}', '{"name": "f", "parameters": {"q": "y", "n": 1}}'];
  assert.deepEqual(JSON.parse(inferTools(calls).text), [
    { name: "f", parameters: { type: "object", properties: { q: { type: "string" }, n: { type: "integer" } }, required: ["q"] } },
    { name: "g", parameters: { type: "object" } },
  ]);
});
