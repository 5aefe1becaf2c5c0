// Schemas, tools, numbers, limits and options.
import assert from "node:assert/strict";
import { runInNewContext } from "node:vm";
import test from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod";
import * as small from "../dist/index.js";
import * as smallest from "../dist/live.js";
import * as providers from "../dist/providers.js";
import {
  JsonlParser,
  Live,
  RecordTransform,
  ResponseParser,
  ToolCallParser,
  TokenlineError,
  live,
  records,
  responses,
  toolCalls,
  validate,
} from "../dist/schema.js";
import { halves, pieces } from "./fixtures.mjs";

function read(parser, chunks) {
  const events = [chunks].flat().flatMap((chunk) => parser.push(chunk));
  return [...events, ...parser.finish()];
}

const values = (events) => events.filter(({ type }) => type === "record").map(({ value }) => value);
const rejects = (events) => events.filter(({ type }) => type.startsWith("reject")).map(({ code, instancePath, message }) => [code, instancePath, message]);

const TEXT = '{"a":1,"when":"2024-01-02"}\n{"a":2}\n{"a":"x","when":"2024-01-02"}\n{"a":-1,"when":"2024-01-02"}\n{"a":3,"when":"2024-02-03","tag":"t"}\n';

test("a JSON Schema: values as they are, and the rule that a reject breaks", () => {
  const schema = { type: "object", properties: { a: { type: "integer", minimum: 0 } }, required: ["a", "when"] };
  for (const chunks of [[TEXT], pieces(TEXT, 3), ...halves(TEXT)]) {
    const events = read(new JsonlParser({ schema }), chunks);
    assert.deepEqual(values(events), [{ a: 1, when: "2024-01-02" }, { a: 3, when: "2024-02-03", tag: "t" }]);
    assert.deepEqual(rejects(events), [
      ["schema_violation", "", "missing required member `when`"],
      ["schema_violation", "/a", "expected type integer, found a string"],
      ["schema_violation", "/a", "less than the minimum 0"],
    ]);
    assert.deepEqual(events.map(({ line, column }) => `${line}:${column}`), ["1:1", "2:1", "3:6", "4:6", "5:1"]);
    assert.equal(events[2].schemaPath, "/properties/a/type");
  }
  assert.deepEqual(values(read(new JsonlParser({ schema: true }), '{"a":1}\n')), [{ a: 1 }]);
  assert.deepEqual(values(read(new JsonlParser({ schema: false }), '{"a":1}\n')), []);
  // The same object is compiled once, and stays when its parser is freed.
  for (let count = 0; count < 100; count++) {
    const parser = new JsonlParser({ schema });
    assert.equal(read(parser, TEXT).length, 5);
    parser.free();
  }
});

const LIBRARIES = {
  zod: z.object({
    a: z.number().refine((a) => a > 0, "must be positive"),
    when: z.string().transform((text) => new Date(text)),
    tag: z.string().default("none"),
  }),
  valibot: v.object({
    a: v.pipe(v.number(), v.check((a) => a > 0, "must be positive")),
    when: v.pipe(v.string(), v.transform((text) => new Date(text))),
    tag: v.optional(v.string(), "none"),
  }),
  "valibot with a JSON Schema": toStandardJsonSchema(
    v.object({
      a: v.pipe(v.number(), v.minValue(1, "must be positive")),
      when: v.pipe(v.string(), v.transform((text) => new Date(text))),
      tag: v.optional(v.string(), "none"),
    }),
  ),
  arktype: type({ a: "number>0", when: "string.date.parse", tag: "string='none'" }),
};
const VALUES = [
  { a: 1, when: new Date("2024-01-02"), tag: "none" },
  { a: 3, when: new Date("2024-02-03"), tag: "t" },
];

for (const [name, schema] of Object.entries(LIBRARIES)) {
  for (const [entry, api] of Object.entries({ schema: { JsonlParser, records, live, Live, validate, RecordTransform }, index: small, live: smallest })) {
    test(`${name}, in the entry ${entry}: transforms, defaults and refinements`, async () => {
      for (const chunks of [[TEXT], pieces(TEXT, 7)]) {
        const events = read(new api.JsonlParser({ schema }), chunks);
        assert.deepEqual(values(events), VALUES);
        const found = rejects(events);
        assert.deepEqual(found.map(([code]) => code), Array(3).fill("schema_violation"));
        assert.deepEqual(found.slice(1).map(([, path]) => path), ["/a", "/a"]);
        assert.ok(["", "/when"].includes(found[0][1]), found[0][1]);
        assert.deepEqual(events.map(({ line }) => line), [1, 2, 3, 4, 5]);
        assert.ok(events.every(({ start, end }) => start < end));
        assert.ok(found.every(([, , message]) => typeof message === "string" && message.length > 5));
        const stream = api.records(chunks, { schema });
        assert.deepEqual(await stream.toArray(), VALUES);
        assert.deepEqual([stream.report.records, stream.report.rejected], [2, 3]);
        const list = api.live(chunks, { schema, list: true });
        assert.deepEqual((await list.toArray()).at(-1), VALUES);
        assert.deepEqual(list.value, VALUES);
        const report = await api.validate(chunks, { schema });
        assert.deepEqual([report.records, report.rejected, report.codes.schema_violation], [2, 3, 3]);
        const piped = ReadableStream.from(chunks).pipeThrough(new api.RecordTransform({ schema }));
        assert.deepEqual(await Array.fromAsync?.(piped) ?? VALUES, VALUES);
      }
    });
  }
}

test("the value that grows is the text's, and the complete one the schema's", () => {
  const schema = LIBRARIES.zod;
  const grown = new Live({ schema });
  grown.push('{"a":1,"when":"2024-01-0');
  assert.deepEqual(grown.value, { a: 1, when: "2024-01-0" });
  assert.equal(grown.state, "growing");
  grown.push('2"}\n');
  assert.deepEqual(grown.value, VALUES[0]);
  assert.equal(grown.state, "complete");
  assert.equal(grown.record.value, grown.value);
  const rejected = new Live({ schema });
  rejected.push('{"a":-1,"when":"2024-01-0');
  rejected.push('2"}\n');
  assert.deepEqual([rejected.state, rejected.value, rejected.reject.code, rejected.reject.instancePath], ["rejected", undefined, "schema_violation", "/a"]);
  assert.equal(rejected.reject.message, "must be positive");
});

test("the first record that the schema accepts is the value, in whatever chunks", () => {
  const schema = LIBRARIES.zod;
  const text = '{"a":-1,"when":"x"}{"a":-2,"when":"y"}{"a":7,"when":"2024-01-02"}{"a":8,"when":"2024-01-02"}\n';
  for (const chunks of [[text], ...halves(text), pieces(text, 1), pieces(text, 4)]) {
    const completed = [];
    const grown = new Live({ schema, onComplete: (_value, path) => completed.push(path.join("/")) });
    for (const chunk of chunks) grown.push(chunk);
    grown.finish();
    assert.deepEqual([grown.state, grown.value.a, grown.reject], ["complete", 7, undefined]);
    assert.deepEqual(completed, ["a", "when", "", "a", "when", "", "a", "when", ""]);
    const list = new Live({ schema, list: true });
    for (const chunk of chunks) list.push(chunk);
    list.finish();
    assert.deepEqual(list.value.map(({ a }) => a), [7, 8]);
  }
  // What grows behind a record that is not judged yet.
  const grown = new Live({ schema });
  grown.push('{"a":-1,"when":"x"}{"a":3,"when":"z');
  assert.deepEqual([grown.state, grown.value, grown.reject], ["growing", { a: 3, when: "z" }, undefined]);
  const settled = new Live({ schema });
  settled.push('{"a":1,"when":"2024-01-02"}{"a":3,"when":"z');
  assert.deepEqual([settled.state, settled.value.a], ["complete", 1]);
});

test("issues: the first is the message, the others are further", () => {
  const schema = z.object({ a: z.array(z.object({ "b/c~": z.number() }).refine(() => true)) }).refine(() => false, "never");
  const two = z.object({ a: z.string().refine(() => false, "one"), b: z.object({ c: z.string().refine(() => false, { message: "two", path: ["d/e~f", 0] }) }) });
  const [reject] = read(new JsonlParser({ schema: two }), '\n  {"a":"x","b":{"c":"y"}}\n');
  assert.deepEqual(reject, {
    type: "reject",
    code: "schema_violation",
    message: "one",
    line: 2,
    column: 3,
    start: 3,
    end: 26,
    instancePath: "/a",
    further: [{ code: "schema_violation", message: "two", line: 2, column: 3, instancePath: "/b/c/d~1e~0f/0" }],
  });
  const [never] = read(new JsonlParser({ schema }), '{"a":[{"b/c~":1}]}\n');
  assert.deepEqual([never.message, never.instancePath], ["never", ""]);
  const [deep] = read(new small.JsonlParser({ schema }), '{"a":[{"b/c~":"x"}]}\n');
  assert.equal(deep.instancePath, "/a/0/b~1c~0");
});

test("what no JSON Schema describes is judged by the library alone", async () => {
  const schema = z.object({ n: z.bigint(), at: z.custom((value) => value === "here") });
  assert.throws(() => z.toJSONSchema(schema));
  assert.deepEqual(values(read(new JsonlParser({ schema, bigints: true }), '{"n":12345678901234567890,"at":"here"}\n')), [{ n: 12345678901234567890n, at: "here" }]);
  assert.deepEqual(rejects(read(new JsonlParser({ schema }), '{"n":1,"at":"here"}\n')).map(([code, path]) => [code, path]), [["schema_violation", "/n"]]);
  // A JSON Schema that is not supported.
  const odd = { "~standard": { version: 1, vendor: "ours", validate: (value) => ({ value: { ...value, seen: true } }), jsonSchema: { input: () => ({ type: "strng" }), output: () => ({}) } } };
  assert.deepEqual(values(read(new JsonlParser({ schema: odd }), '{"a":1}\n')), [{ a: 1, seen: true }]);
  assert.deepEqual(read(new ToolCallParser({ tools: { f: odd } }), '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>').map(({ parameters }) => parameters), [{ a: 1, seen: true }]);
});

test("a pattern that the module may not know is the library's to judge", () => {
  const name = z.string().regex(/^(?=.*x)\p{L}+$/u, "needs an x");
  const schema = z.object({ name });
  const events = read(new JsonlParser({ schema }), '{"name":"éx"}\n{"name":"y"}\n');
  assert.deepEqual(values(events), [{ name: "éx" }]);
  assert.deepEqual(rejects(events).map(([code, path]) => [code, path]), [["schema_violation", "/name"]]);
  const tools = { f: schema, g: z.object({ n: z.number() }) };
  const call = (name, parameters) => `<tool_call>${JSON.stringify({ name, arguments: parameters })}</tool_call>\n`;
  const calls = read(new ToolCallParser({ tools }), [call("f", { name: "éx" }), call("f", { name: "y" }), call("g", { n: "1" })]);
  assert.deepEqual(calls.map(({ type, code, name }) => [name, code ?? type]), [["f", "tool_call"], ["f", "invalid_parameters"], ["g", "invalid_parameters"]]);
});

test("a Standard Schema decides, however strict the JSON Schema of its library is", async () => {
  const schemas = [
    [z.object({ n: z.coerce.number() }), { n: "5" }, { n: 5 }],
    [z.object({ n: z.number().catch(7) }), {}, { n: 7 }],
    [z.object({ n: z.preprocess(Number, z.number()) }), { n: "5" }, { n: 5 }],
    [z.object({ s: z.string().trim().max(3) }), { s: "  abc  " }, { s: "abc" }],
    [z.object({ s: z.string().regex(/^abc$/i) }), { s: "ABC" }, { s: "ABC" }],
    [toStandardJsonSchema(v.object({ s: v.pipe(v.string(), v.minLength(2)) })), { s: "\u{1F600}" }, { s: "\u{1F600}" }],
    [type({ s: "string>=2" }), { s: "\u{1F600}" }, { s: "\u{1F600}" }],
    [z.object({ to: z.email() }), { to: "a@example.org" }, { to: "a@example.org" }],
  ];
  for (const [schema, given, made] of schemas) {
    const text = JSON.stringify(given);
    assert.deepEqual(await records(`${text}\n`, { schema }).toArray(), [made], text);
    // Beside a tool whose JSON Schema is checked.
    const tools = { f: schema, add: { parameters: { type: "object", properties: { n: { type: "number" } } } } };
    const call = (name, parameters) => `<tool_call>{"name":"${name}","arguments":${parameters}}</tool_call>\n`;
    const events = read(new ToolCallParser({ tools }), call("f", text) + call("add", '{"n":"x"}'));
    assert.deepEqual(events.map(({ type, parameters, code }) => [type, parameters ?? code]), [["tool_call", made], ["rejected_call", "invalid_parameters"]]);
  }
  // Its JSON Schema still says how the text of a parameter is read.
  const xml = "<tool_call><function=add><parameter=n>5</parameter><parameter=s>5</parameter></function></tool_call>\n";
  const tools = { add: z.object({ n: z.number(), s: z.string(), to: z.email().optional() }) };
  assert.deepEqual(read(new ToolCallParser({ tools }), xml).map(({ parameters }) => parameters), [{ n: 5, s: "5" }]);
});

test("JSON Schemas of tools by their names, and what is no schema", () => {
  const weather = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
  const call = '<tool_call>{"name":"weather","arguments":{"city":7}}</tool_call>\n';
  for (const schema of [weather, { ...weather, description: "the weather" }, { properties: weather.properties }, { anyOf: [weather] }]) {
    assert.deepEqual(read(new ToolCallParser({ tools: { weather: schema } }), call).map(({ code }) => code), ["invalid_parameters"]);
  }
  assert.deepEqual(read(new ToolCallParser({ tools: { weather: { description: "the weather" } } }), call).map(({ type }) => type), ["tool_call"]);
  assert.throws(() => new JsonlParser({ schema: { n: z.number() } }), { code: "invalid_option", message: /is `z.object\(...\)` around it missing\?/ });
  assert.throws(() => new JsonlParser({ schema: { type: "string", format: "email" } }), {
    code: "unsupported_schema",
    message: /the keyword `format` is not supported/,
  });
  const unsupported = { parameters: { type: "object", properties: { to: { type: "string", format: "email" } } } };
  assert.throws(() => new ToolCallParser({ tools: { mail: unsupported, add: z.object({}) } }), {
    code: "unsupported_schema",
    message: 'tools: tool "mail": /properties/to/format: the keyword `format` is not supported',
  });
});

test("a schema of another realm may answer later", async () => {
  const validate = runInNewContext('(value) => Promise.resolve(value.n ? { value } : { issues: [{ message: "no" }] })');
  const stream = records('{"n":0}\n{"n":1}\n', { schema: { "~standard": { version: 1, vendor: "ours", validate } } });
  assert.deepEqual(await stream.toArray(), [{ n: 1 }]);
  assert.equal(stream.report.rejected, 1);
});

const slow = (check) => async (value) => {
  await new Promise((resolve) => setTimeout(resolve, value % 2 === 0 ? 1 : 3));
  return check(value);
};

test("asynchronous refinements: streams wait for them, in order; parsers say that they cannot", async () => {
  const schema = z.object({ a: z.number().refine(slow((a) => a !== 2), "not two") });
  const text = '{"a":1}\n{"a":2}\nprose\n{"a":3}{"a":4}\n';
  for (const chunks of [[text], pieces(text, 5)]) {
    const found = [];
    const stream = records(chunks, { schema, onReject: ({ line, message }) => found.push([line, message]) });
    assert.deepEqual(await stream.toArray(), [{ a: 1 }, { a: 3 }, { a: 4 }]);
    assert.deepEqual(found, [[2, "not two"]]);
    assert.deepEqual([stream.report.records, stream.report.rejected, stream.report.notes], [3, 1, 1]);
    assert.deepEqual((await live(chunks, { schema, list: true }).toArray()).at(-1), [{ a: 1 }, { a: 3 }, { a: 4 }]);
    const first = live(chunks, { schema });
    assert.deepEqual((await first.toArray()).at(-1), { a: 1 });
    assert.equal(first.state, "complete");
    assert.equal((await validate(chunks, { schema })).records, 3);
  }
  await assert.rejects(records(text, { schema, strict: true }).toArray(), { code: "schema_violation", message: "2:1: not two" });
  const expected = { code: "invalid_option", message: "the schema validates asynchronously: a parser without I/O cannot wait for it" };
  assert.throws(() => new JsonlParser({ schema }).push(text), expected);
  assert.throws(() => new Live({ schema }).push(text), expected);
  const tools = { f: z.object({ a: z.number().refine(slow((a) => a !== 2), "not two") }) };
  const calls = [1, 2, 3].map((a) => `<tool_call>{"name":"f","arguments":{"a":${a}}}</tool_call>\n`);
  const stream = toolCalls(calls, { tools });
  assert.deepEqual((await stream.toArray()).map(({ parameters }) => parameters.a), [1, 3]);
  assert.equal(stream.report.codes.invalid_parameters, 1);
  assert.throws(() => new ToolCallParser({ tools }).push(calls[0]), expected);
});

test("a schema that throws ends the stream, after what it accepted before", async () => {
  const text = '{"a":1}\n{"a":2}\n{"a":3}\n';
  const fail = (a) => {
    if (a === 2) throw new Error("of the schema");
    return true;
  };
  for (const check of [fail, slow(fail)]) {
    const validate = (value) => {
      const checked = check(value.a);
      return checked instanceof Promise ? checked.then(() => ({ value })) : { value };
    };
    const schema = { "~standard": { version: 1, vendor: "ours", validate } };
    const stream = records(text, { schema });
    assert.deepEqual(await stream.next(), { done: false, value: { a: 1 } });
    await assert.rejects(stream.next(), /of the schema/);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
  }
});

test("`strict` with a library's schema: what came before the reject is delivered, in any chunks", async () => {
  const schema = LIBRARIES.zod;
  const text = '{"a":1,"when":"2024-01-02"}\n{"a" 1}\n{"a":-5,"when":"x"}\n';
  for (const chunks of [[text], pieces(text, 3)]) {
    const found = [];
    const stream = records(chunks, { schema, strict: true, onReject: ({ code }) => found.push(code) });
    assert.deepEqual((await stream.next()).value, VALUES[0]);
    await assert.rejects(stream.next(), { code: "malformed_json", line: 2 });
    assert.deepEqual(found, ["malformed_json"]);
    assert.equal(stream.report.records, 1);
  }
});

test("a return while a schema judges", async () => {
  let answer;
  const schema = { "~standard": { version: 1, vendor: "ours", validate: (value) => new Promise((resolve) => (answer = () => resolve({ value }))) } };
  const stream = records('{"a":1}\n', { schema });
  const next = stream.next();
  await new Promise((resolve) => setTimeout(resolve, 1));
  await stream.return();
  answer();
  assert.deepEqual(await next, { done: true, value: undefined });
});

const CALLS =
  'Sure.\n<tool_call>{"name":"weather","arguments":{"city":"Paris"}}</tool_call>\n<tool_call>{"name":"weather","arguments":{"city":7}}</tool_call>\n<tool_call>{"name":"wether","arguments":{"city":"Oslo"}}</tool_call>\n<tool_call>{"name":"now","arguments":{}}</tool_call>\n';
const CITY = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

test("tools in every shape", async () => {
  const zod = z.object({ city: z.string() });
  const shapes = {
    "a list": [{ name: "weather", parameters: CITY }, { name: "now" }],
    "a list, with descriptions": [{ name: "weather", description: "of a city", parameters: CITY }, { name: "now", description: "the time" }],
    "MCP": [{ name: "weather", inputSchema: CITY }, { name: "now", inputSchema: { type: "object" } }],
    "OpenAI chat": [{ type: "function", function: { name: "weather", parameters: CITY } }, { type: "function", function: { name: "now" } }],
    "OpenAI Responses": [{ type: "function", name: "weather", parameters: CITY, strict: true }, { type: "function", name: "now" }],
    "Anthropic": [{ name: "weather", input_schema: CITY }, { name: "now", input_schema: { type: "object" } }],
    "an object of JSON Schemas": { weather: { inputSchema: CITY }, now: {} },
    "the AI SDK, wrapped": { weather: { description: "w", inputSchema: { jsonSchema: CITY, validate: () => {} } }, now: { inputSchema: { jsonSchema: { type: "object" } } } },
    "the AI SDK, with zod": { weather: { description: "w", inputSchema: zod, execute: async () => {} }, now: { inputSchema: z.object({}) } },
    "an object of zod": { weather: zod, now: z.object({}) },
    "a list with zod": [{ name: "weather", parameters: zod }, { name: "now", inputSchema: z.object({}) }],
    "an object of arktype": { weather: type({ city: "string" }), now: type({}) },
    "an object of valibot": { weather: v.object({ city: v.string() }), now: v.object({}) },
  };
  for (const [name, tools] of Object.entries(shapes)) {
    for (const chunks of [[CALLS], pieces(CALLS, 11)]) {
      const events = read(new ToolCallParser({ tools }), chunks);
      const calls = events.filter(({ type }) => type === "tool_call");
      assert.deepEqual(calls.map(({ name, parameters }) => [name, parameters]), [["weather", { city: "Paris" }], ["now", {}]], name);
      const found = events.filter(({ type }) => type === "rejected_call");
      assert.deepEqual(found.map(({ name, code, line }) => [name, code, line]), [["weather", "invalid_parameters", 3], ["wether", "unknown_tool", 4]], name);
      assert.match(found[0].instancePath, /\/city$/);
      const stream = toolCalls(chunks, { tools });
      assert.deepEqual((await stream.toArray()).map(({ name }) => name), ["weather", "now"], name);
      assert.deepEqual([stream.report.toolCalls, stream.report.rejected], [2, 2]);
    }
  }
});

test("tools in the smaller entries: names are checked, and the parameters by their own schemas", () => {
  const names = (tools) => read(new small.ToolCallParser({ tools }), CALLS).map(({ type, code, name }) => code ?? (type === "tool_call" ? name : type));
  assert.deepEqual(names([{ name: "weather" }, { name: "now" }]), ["prose", "weather", "weather", "unknown_tool", "now"]);
  assert.deepEqual(names({ weather: z.object({ city: z.string() }), now: {} }), ["prose", "weather", "invalid_parameters", "unknown_tool", "now"]);
});

test("tools with transforms, and rejected calls with what was received", () => {
  const tools = { weather: z.object({ city: z.string().transform((city) => city.toUpperCase()), days: z.number().default(1) }), now: z.object({}) };
  const events = read(new ToolCallParser({ tools, showValues: true }), CALLS);
  assert.deepEqual(events.find(({ type }) => type === "tool_call").parameters, { city: "PARIS", days: 1 });
  assert.equal(events.find(({ type }) => type === "rejected_call").received, '{"city":7}');
  assert.ok(read(new ToolCallParser({ tools }), CALLS).every((event) => !("received" in event)));
});

const sse = (object) => `data: ${JSON.stringify(object)}\n\n`;
const choice = (index, delta, finish_reason = null) => sse({ id: "c", object: "chat.completion.chunk", choices: [{ index, delta, finish_reason }] });
const native = (city) =>
  choice(0, { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":' } }] }) +
  choice(0, { tool_calls: [{ index: 0, function: { arguments: `${city}}` } }] }) +
  choice(0, {}, "tool_calls") +
  "data: [DONE]\n\n";

test("native calls against tools, and everything in a response", async () => {
  const tools = { weather: z.object({ city: z.string().refine((city) => city !== "Atlantis", "is not there") }) };
  for (const [city, expected] of [['"Paris"', "tool_call"], ["7", "rejected_call"], ['"Atlantis"', "rejected_call"]]) {
    const all = await responses(pieces(native(city), 9), { provider: "openai-chat", tools, callUpdates: true }).toArray();
    assert.deepEqual(all.map(({ type }) => type), ["tool_call_began", ...Array(2).fill("tool_call_arguments"), expected, "finish"], city);
    const call = all.at(-2);
    assert.deepEqual([call.name, call.id, call.number, call.choice], ["weather", "call_1", 1, 0]);
    if (city === "7") assert.equal(call.code, "invalid_parameters");
    if (city === '"Atlantis"') assert.deepEqual([call.code, call.message, call.instancePath], ["invalid_parameters", "is not there", "/parameters/city"]);
  }
  const text = choice(0, { content: 'Two:\n{"a":1,"when":"2024-01-02"}\n{"a":-1' }) + choice(0, { content: ',"when":"x"}\n' }) + choice(0, {}, "stop") + "data: [DONE]\n\n";
  const all = read(new ResponseParser("openai-chat", { schema: LIBRARIES.zod }), text);
  assert.deepEqual(all.map(({ type }) => type).filter((type) => type !== "text"), ["note", "record", "reject", "finish"]);
  assert.deepEqual(all.find(({ type }) => type === "record").value, VALUES[0]);
  assert.deepEqual(await records([text], { provider: "openai-chat", schema: LIBRARIES.zod }).toArray(), [VALUES[0]]);
});

const BIG = "12345678901234567890";
const NUMBERS = `{"big":${BIG},"list":[9007199254740993,-9007199254740993,9007199254740991,-9007199254740991,0],"text":"${BIG}","${BIG}":{"deep":[{"n":[${BIG}${BIG}]}]},"float":${BIG}.5,"exp":1e20,"small":0.12345678901234567890}`;
const EXACT = {
  big: 12345678901234567890n,
  list: [9007199254740993n, -9007199254740993n, 9007199254740991, -9007199254740991, 0],
  text: BIG,
  [BIG]: { deep: [{ n: [BigInt(BIG + BIG)] }] },
  float: 12345678901234567890.5,
  exp: 1e20,
  small: 0.1234567890123456789,
};

test("bigints: only for integers that a number cannot hold, wherever they are", async () => {
  const line = `${NUMBERS}\n`;
  for (const chunks of [[line], pieces(line, 5), ...halves(line)]) {
    assert.deepEqual(values(read(new JsonlParser({ bigints: true }), chunks)), [EXACT]);
    assert.deepEqual(values(read(new JsonlParser(), chunks)), [JSON.parse(NUMBERS)]);
    for (const inPlace of [false, true]) {
      const grown = new Live({ bigints: true, inPlace });
      for (const chunk of chunks) grown.push(chunk);
      grown.finish();
      assert.deepEqual(grown.value, EXACT);
    }
  }
  const many = `{"a":1}\n${line}{"a":2}\n[{"a":3},${NUMBERS},{"a":4}]\n{"n":${BIG}}\n`;
  const expected = [{ a: 1 }, EXACT, { a: 2 }, { a: 3 }, EXACT, { a: 4 }, { n: BigInt(BIG) }];
  assert.deepEqual(await records(pieces(many, 50), { bigints: true }).toArray(), expected);
  assert.deepEqual(await records(many, { bigints: true }).toArray(), expected);
  assert.deepEqual((await live(pieces(many, 9), { bigints: true, list: true }).toArray()).at(-1), expected);
  const call = `<tool_call>{"name":"f","arguments":${NUMBERS}}</tool_call>\n{"name":"g","arguments":{}}`;
  const calls = await toolCalls(call, { bigints: true, tools: [{ name: "f" }, { name: "g" }] }).toArray();
  assert.deepEqual(calls.map(({ name, parameters }) => [name, parameters]), [["f", EXACT], ["g", {}]]);
  const schema = { properties: { big: { type: "integer", const: 1 } } };
  assert.equal(rejects(read(new JsonlParser({ bigints: true, schema }), line))[0][1], "/big");
});

test("bigints in responses: native calls, open calls, and a record that is open meanwhile", () => {
  const parser = new ResponseParser("openai-chat", { bigints: true, callUpdates: true });
  const [began] = parser.push(native(BIG).slice(0, native(BIG).indexOf(`${BIG}}`) + 3));
  assert.equal(began?.type, "tool_call_began");
  const rest = parser.push(native(BIG).slice(native(BIG).indexOf(`${BIG}}`) + 3));
  assert.deepEqual(rest.find(({ type }) => type === "tool_call").parameters, { city: BigInt(BIG) });
  const grown = new ResponseParser("openai-chat", { bigints: true, callUpdates: true });
  grown.push(choice(0, { tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: `{"a":[${BIG},` } }] }));
  assert.deepEqual(grown.openCalls, [{ name: "f", number: 1, choice: 0, id: "call_1", parameters: { a: [BigInt(BIG)] } }]);
  grown.free();
  for (const list of [false, true]) {
    const open = new Live({ provider: "openai-chat", bigints: true, list });
    for (const content of [[0, '{"a":"x'], [1, `{"n":${BIG}}\n{"n":1}\n`], [0, `y","b":[${BIG}`], [1, `{"n":${BIG}`], [0, "]"], [1, "}\n"], [0, "}\n"]]) open.push(choice(content[0], { content: content[1] }));
    const value = { a: "xy", b: [BigInt(BIG)] };
    assert.deepEqual(open.value, list ? [value] : value);
    assert.equal(open.report.records, 4);
    assert.equal(open.state, "complete");
  }
});

test("numbers beyond, as with JSON.parse", () => {
  const text = '{"a":[1e400,-1e400,1e-400,-0,1.7976931348623157e308,5e-324,0.1,100000000000000000000000,123456789012345678]}\n';
  const [value] = values(read(new JsonlParser(), text));
  assert.deepEqual(value, JSON.parse(text));
  assert.ok(Object.is(value.a[3], -0));
  const grown = new Live();
  grown.push(text);
  assert.deepEqual(grown.value, JSON.parse(text));
});

test("half a surrogate pair: its record is rejected, as in Rust", () => {
  const high = "\ud83d";
  const low = "\ude00";
  for (const [text, code] of [
    ['{"a":"\\ud83d"}\n', "malformed_json"],
    ['{"a":"\\ude00"}\n', "malformed_json"],
    ['{"a":"\\ud83dx"}\n', "malformed_json"],
    ['{"a":"\\ud83d\\ud83d\\ude00"}\n', "malformed_json"],
    [`{"a":"${high}"}\n`, "invalid_utf8"],
    [`{"a":"${low}"}\n`, "invalid_utf8"],
    [`{"a":"long enough for the encoder ${high} and more"}\n`, "invalid_utf8"],
    [`{"a":"${low}${high}"}\n`, "invalid_utf8"],
  ]) {
    const whole = `${text}{"a":"${high}${low}"}\n`;
    for (const chunks of [[whole], ...halves(whole), pieces(whole, 1), pieces(whole, 2)]) {
      const events = read(new JsonlParser(), chunks);
      assert.deepEqual(events.map(({ code, value }) => code ?? value), [code, { a: "😀" }], JSON.stringify(chunks));
      const grown = new Live();
      for (const chunk of chunks) grown.push(chunk);
      grown.finish();
      assert.deepEqual(grown.value, { a: "😀" }, JSON.stringify(chunks));
    }
  }
  // Halves in turn with bytes.
  const parser = new JsonlParser();
  parser.push(`{"a":"${high}`);
  assert.deepEqual(parser.push(Buffer.from('"}\n{"b":1}\n')).map(({ code, value }) => code ?? value), ["invalid_utf8", { b: 1 }]);
});

test("limits", async () => {
  const long = `{"a":"${"x".repeat(100)}"}\n{"b":1}\n`;
  for (const chunks of [[long], pieces(long, 7)]) {
    const events = read(new JsonlParser({ lineBytes: 64 }), chunks);
    assert.deepEqual(events.map(({ code, value }) => code ?? value), ["line_too_long", { b: 1 }]);
    const grown = new Live({ lineBytes: 64 });
    for (const chunk of chunks) grown.push(chunk);
    assert.deepEqual(grown.value, { b: 1 });
  }
  assert.equal(values(read(new JsonlParser({ lineBytes: 200 }), long)).length, 2);
  const nested = (depth) => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}\n`;
  for (const [depth, code] of [[3, undefined], [4, "too_deep"], [127, "too_deep"]]) {
    const events = read(new JsonlParser({ depth: 3 }), nested(depth));
    assert.equal(events[0].code, code, `${depth}`);
  }
  assert.equal(values(read(new JsonlParser(), nested(127))).length, 1);
  assert.equal(read(new JsonlParser(), nested(128))[0].code, "too_deep");
  // No nesting and no number of brackets ends the module.
  for (const depth of [1e6, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
    const deep = nested(300_000);
    assert.equal(read(new JsonlParser({ depth }), deep)[0].code, "too_deep");
    const grown = new Live({ depth, bigints: true });
    for (const chunk of pieces(deep, 60_000)) grown.push(chunk);
    grown.finish();
    assert.notEqual(grown.state, "complete");
  }
  const event = sse({ id: "c", choices: [{ index: 0, delta: { content: "x".repeat(2000) } }] });
  for (const option of ["sseLineBytes", "sseEventBytes"]) {
    const found = read(new ResponseParser("openai-chat", { [option]: 1000 }), event);
    assert.ok(found.some(({ type }) => type === "reject"), option);
  }
  const noted = records("prose\n".repeat(50), { diagnostics: 3 });
  await noted.toArray();
  assert.equal(noted.report.diagnostics.length, 3);
});

const THERE = "bigints, depth, diagnostics, inReasoning, items, lineBytes, mode, release, schema, sseEventBytes, sseLineBytes";

test("the errors about options say what is wrong, and what there is", async () => {
  const invalid = (message) => ({ name: "TokenlineError", code: "invalid_option", message });
  for (const [options, message] of [
    [{ itms: "/a" }, `JsonlParser has no option \`itms\`; there are ${THERE}`],
    [{ provider: "anthropic" }, `JsonlParser has no option \`provider\`; there are ${THERE}`],
    [{ mode: "srict" }, 'unknown mode "srict"; expected lenient, strict'],
    [{ mode: true }, "`mode` must be a string, not true"],
    [{ release: "eager" }, 'unknown release "eager"; expected confirmed, on_balance, at_finish'],
    [{ items: "a" }, 'items "a" is not a JSON Pointer such as "/items"'],
    [{ items: 5 }, "`items` must be a string, not 5"],
    [{ lineBytes: -1 }, "`lineBytes` must be a whole number, not -1"],
    [{ lineBytes: 1.5 }, "`lineBytes` must be a whole number, not 1.5"],
    [{ lineBytes: "8" }, '`lineBytes` must be a whole number, not "8"'],
    [{ lineBytes: 10n }, "`lineBytes` must be a whole number, not 10"],
    [{ diagnostics: Infinity }, "`diagnostics` must be a whole number, not Infinity"],
    [{ depth: null }, "`depth` must be a whole number, not null"],
    [{ bigints: 1 }, "`bigints` must be a boolean, not 1"],
    [{ inReasoning: {} }, "`inReasoning` must be a boolean, not Object"],
    [{ schema: 5 }, "`schema` must be a JSON Schema or a Standard Schema (zod, valibot, arktype)"],
    [{ schema: null }, "`schema` must be a JSON Schema or a Standard Schema (zod, valibot, arktype)"],
    [null, "the options of JsonlParser: must be an object, not null"],
    ["strict", 'the options of JsonlParser: must be an object, not "strict"'],
    [LIBRARIES.zod, "the options of JsonlParser: a schema is an option: `{ schema }`"],
    [LIBRARIES.arktype, "the options of JsonlParser: a schema is an option: `{ schema }`"],
  ]) {
    assert.throws(() => new JsonlParser(options), invalid(message));
  }
  new JsonlParser({ mode: undefined, schema: undefined, lineBytes: undefined, items: undefined }).free();
  const needs = (entry) => new RegExp(`needs the entry point \`tokenline/${entry}\``);
  for (const [use, message] of [
    [() => new small.JsonlParser({ schema: CITY }), needs("schema")],
    [() => smallest.records("", { schema: CITY }), needs("schema")],
    [() => small.records("", { provider: "anthropic" }), needs("providers")],
    [() => small.toolCalls("", { provider: "anthropic" }), needs("providers")],
    [() => providers.responses(""), "`responses` needs a `provider`"],
    [() => providers.responses("", {}), "`responses` needs a `provider`"],
    [() => new ResponseParser(), "`ResponseParser` needs a provider"],
    [() => new ResponseParser("opnai"), 'unknown provider "opnai"; expected openai-chat, openai-responses, anthropic, gemini, gemini-interactions, cohere, bedrock, ollama'],
    [() => records("", { provider: 5 }), "`provider` must be a string, not 5"],
    [() => new ResponseParser("anthropic", { textAs: "x" }), 'unknown textAs "x"; expected records, tool_calls, records_and_tool_calls, native_calls, text'],
    [() => toolCalls("", { callFormat: "hermse" }), 'unknown callFormat "hermse"'],
    [() => toolCalls("", { schema: CITY }), /^toolCalls has no option `schema`; there are bigints, callFormat, /],
    [() => records("", { tools: [] }), /^records has no option `tools`; there are /],
    [() => records("", { signal: {} }), "`signal` must be an AbortSignal, not Object"],
    [() => records("", { onReject: true }), "`onReject` must be a function, not true"],
    [() => records("", { strict: "yes" }), '`strict` must be a boolean, not "yes"'],
    [() => live("", { onComplete: {} }), "`onComplete` must be a function, not Object"],
    [() => new Live({ list: 1 }), "`list` must be a boolean, not 1"],
    [() => new Live({ strict: true }), /^Live has no option `strict`/],
    [() => new ToolCallParser({ tools: 5 }), "`tools` must be a list or an object of tools"],
    [() => new ToolCallParser({ tools: null }), "`tools` must be a list or an object of tools"],
    [() => new ToolCallParser({ tools: [{}] }), "each of `tools` must have a `name`"],
    [() => new ToolCallParser({ tools: [null] }), "each of `tools` must be an object"],
    [() => new ToolCallParser({ tools: { a: 5 } }), "the tool `a` must be an object or a schema"],
    [() => new ToolCallParser({ tools: { a: null } }), "the tool `a` must be an object or a schema"],
    [() => new ToolCallParser({ tools: [{ name: "a", parameters: 5 }] }), "the parameters of the tool `a` must be a schema"],
  ]) {
    assert.throws(use, (error) => {
      assert.ok(error instanceof TokenlineError || error.name === "TokenlineError", String(error));
      assert.equal(error.code, "invalid_option");
      if (typeof message === "string") assert.equal(error.message, message);
      else assert.match(error.message, message);
      return true;
    });
  }
  await assert.rejects(validate("", { strct: true }), /^TokenlineError: validate has no option `strct`/);
});

test("the errors about schemas and tools that cannot be compiled", () => {
  const unsupported = (message) => ({ name: "TokenlineError", code: "unsupported_schema", message });
  for (const [schema, message] of [
    [{ type: "strng" }, /^schema: \/type: .*did you mean `string`/],
    [{ properties: { a: { pattern: "(" } } }, /^schema: \/properties\/a\/pattern: .*pattern/],
    [{ $ref: "#/nope" }, /^schema: \/\$ref: .*nope/],
  ]) {
    assert.throws(() => new JsonlParser({ schema }), unsupported(message));
    assert.throws(() => new ToolCallParser({ tools: [{ name: "f", parameters: schema }] }), { code: "unsupported_schema", message: /^tools: tool "f": / });
  }
  assert.throws(() => new ToolCallParser({ tools: [{ name: "a" }, { name: "a" }] }), { code: "unsupported_schema", message: /two tools have this name/ });
  // The module goes on.
  assert.equal(values(read(new JsonlParser({ schema: CITY }), '{"city":"x"}\n')).length, 1);
});
