// Responses and calls in text: however they are cut, they are those of the Rust program.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import test from "node:test";
import { crc32 } from "node:zlib";
import { ToolCallParser, toolCalls } from "../dist/index.js";
import * as providers from "../dist/providers.js";
import { Live, ResponseParser } from "../dist/providers.js";
import { EXHAUSTIVE, halves, path, pieces, program, textOf } from "./fixtures.mjs";

const PROGRAM = program();
const skip = PROGRAM ? false : "TOKENLINE_PROGRAM is not set: NOT compared with the Rust program";
if (skip) console.error(skip);

const PROVIDERS = ["openai-chat", "openai-responses", "anthropic", "gemini", "gemini-interactions", "cohere", "bedrock", "ollama"];

/** A message of an Amazon event stream, with string headers. */
function message(headers, payload) {
  const text = Buffer.concat(
    headers.flatMap(([name, value]) => [
      Buffer.of(name.length),
      Buffer.from(name),
      Buffer.of(7, value.length >> 8, value.length & 0xff),
      Buffer.from(value),
    ]),
  );
  const word = (number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(number >>> 0);
    return bytes;
  };
  const lengths = Buffer.concat([word(16 + text.length + payload.length), word(text.length)]);
  const begun = Buffer.concat([lengths, word(checksum(lengths)), text, payload]);
  return Buffer.concat([begun, word(checksum(begun))]);
}

/** The checksum of gzip. */
function checksum(bytes) {
  if (crc32) return crc32(bytes);
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc;
}

/** A line of a `*.messages` file as bytes; the README of the fixtures describes it. */
function messageOf(line) {
  const [, kind, rest] = /^(\S+) (.*)$/s.exec(line);
  const [, name, , payload = ""] = /^(\S+)( (.*))?$/s.exec(rest);
  const flipped = (message, at) => {
    message[at < 0 ? message.length + at : at] ^= 1;
    return message;
  };
  const json = [":content-type", "application/json"];
  switch (kind) {
    case "event":
    case "exception":
      return message([[`:${kind}-type`, name], json, [":message-type", kind]], Buffer.from(payload));
    case "error":
      return message([[":error-code", name], [":error-message", payload], [":message-type", "error"]], Buffer.alloc(0));
    case "corrupt":
      return flipped(messageOf(rest), -1);
    case "lost":
      return flipped(messageOf(rest), 11);
    case "cut":
      return messageOf(payload).subarray(0, -Number(name));
    default:
      throw new Error(line);
  }
}

/** The responses of a provider: their names and bytes. */
function responses(provider) {
  const folder = path(`crates/tokenline-llm/fixtures/${provider}`);
  return readdirSync(folder, { recursive: true })
    .filter((name) => [".sse", ".ndjson", ".json", ".messages"].includes(extname(name)))
    .sort()
    .map((name) => {
      const bytes = readFileSync(join(folder, name));
      if (extname(name) !== ".messages") return { name, bytes };
      const lines = bytes.toString().replace(/\n$/, "").split("\n");
      return { name, bytes: Buffer.concat(lines.map(messageOf)) };
    });
}

/** The events without the cuts between pieces of text, which are joined by what they belong to. */
function joined(events) {
  const texts = new Map();
  const others = [];
  for (const event of events) {
    const kind = event.type ?? event.event;
    if (!["text", "reasoning", "refusal", "tool_call_arguments"].includes(kind) || event.opaque !== undefined) others.push(event);
    else {
      const { choice, block = 0, number } = event;
      const key = JSON.stringify([kind, choice, block, number]);
      texts.set(key, (texts.get(key) ?? "") + event.text);
    }
  }
  return { others, texts: Object.fromEntries(texts) };
}

function read(parser, chunks) {
  const events = chunks.flatMap((chunk) => parser.push(chunk));
  return [...events, ...parser.finish()];
}

/** An event as the program prints it. */
function asProgram({ type, ...event }) {
  const rename = {
    type: "event",
    instancePath: "instance_path",
    schemaPath: "schema_path",
    inputTokens: "input_tokens",
    outputTokens: "output_tokens",
    totalTokens: "total_tokens",
    cachedInputTokens: "cached_input_tokens",
    cacheCreationInputTokens: "cache_creation_input_tokens",
    reasoningTokens: "reasoning_tokens",
    id: "call_id",
  };
  const { number: _number, syntheticId, ...shown } = event;
  if (type === "record" || type === "tool_call") delete shown.column;
  if (shown.block === 0) delete shown.block;
  if (shown.text === "") delete shown.text;
  // Those are not of the model.
  if (syntheticId) delete shown.id;
  const named = Object.fromEntries(Object.entries(shown).map(([name, value]) => [rename[name] ?? name, value]));
  named.event = { reject: "rejected", rejected_call: "rejected" }[type] ?? type;
  if (type !== "tool_call") return named;
  const { name, parameters, call_id, error, ...rest } = named;
  return { ...rest, value: { name, parameters, ...(call_id !== undefined && { call_id }), ...(error !== undefined && { error }) } };
}

/** What the program prints for these files, by their paths. */
function printed(files, ...options) {
  const ran = spawnSync(PROGRAM, ["parse", "--emit", "events", ...options, ...files], { maxBuffer: 1 << 28 });
  assert.ok([0, 3].includes(ran.status), ran.stderr.toString());
  const byFile = Map.groupBy
    ? Map.groupBy(ran.stdout.toString().split("\n").filter(Boolean).map((line) => JSON.parse(line)), ({ file }) => file)
    : ran.stdout
        .toString()
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line))
        .reduce((all, event) => all.set(event.file, [...(all.get(event.file) ?? []), event]), new Map());
  return (path) => (byFile.get(path) ?? []).map(({ file: _file, ...event }) => event);
}

for (const provider of PROVIDERS) {
  const all = responses(provider);

  test(`${provider}: a response is the same, however it is cut`, (t) => {
    assert.ok(all.length > 20, `${all.length}`);
    for (const { name, bytes } of all) {
      for (const options of [{ callUpdates: true, showValues: true }, { textAs: "records" }, { textAs: "records_and_tool_calls" }]) {
        const make = () => new ResponseParser(provider, options);
        const whole = joined(read(make(), [bytes]));
        assert.ok(whole.others.length + Object.keys(whole.texts).length > 0, name);
        const check = (chunks, how) => {
          const seen = joined(read(make(), chunks));
          if (JSON.stringify(seen) !== JSON.stringify(whole)) assert.deepEqual(seen, whole, `${name} ${how}`);
        };
        // Recorded ones are long.
        for (const size of EXHAUSTIVE || bytes.length < 6000 ? [1, 7, 61] : [61]) check(pieces(bytes, size), `in pieces of ${size}`);
        const text = textOf(bytes);
        if (text !== undefined) check(pieces(text, 13), "as text");
        if (!EXHAUSTIVE || !options.callUpdates || bytes.length > 1500) continue;
        for (let at = 0; at < bytes.length; at += 5) check([bytes.subarray(0, at), bytes.subarray(at)], `cut at ${at}`);
      }
    }
    t.diagnostic(`${all.length} responses`);
  });

  test(`${provider}: the events are those of the program`, { skip }, () => {
    const folder = mkdtempSync(join(tmpdir(), "tokenline-js-"));
    try {
      const files = all.map(({ name, bytes }) => {
        const file = join(folder, name.replaceAll("/", "-"));
        writeFileSync(file, bytes);
        return file;
      });
      const expected = printed(files, "--from", provider);
      let count = 0;
      all.forEach(({ name, bytes }, at) => {
        const events = read(new ResponseParser(provider, { textAs: "records", showValues: true }), pieces(bytes, 7));
        const wanted = expected(files[at]);
        assert.deepEqual(joined(events.map(asProgram)), joined(wanted), name);
        count += wanted.length;
      });
      assert.ok(count > all.length * 2, `${count}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test(`${provider}: calls as they grow`, () => {
    let calls = 0;
    for (const { name, bytes } of all) {
      const parser = new ResponseParser(provider, { callUpdates: true });
      const begun = new Map();
      let before = new Map();
      const take = (events) => {
        for (const event of events) {
          const key = `${event.choice} ${event.number}`;
          const call = begun.get(key);
          if (event.type === "tool_call_began") {
            assert.equal(call, undefined, name);
            begun.set(key, { name: event.name, text: "", isOver: false });
          } else if (event.type === "tool_call_arguments") call.text += event.text;
          else if (event.type === "tool_call_discarded" || event.type === "rejected_call") {
            if (call) call.isOver = true;
          } else if (event.type === "tool_call" && event.number !== undefined) {
            assert.equal(call.name, event.name, name);
            assert.deepEqual(JSON.parse(call.text || "{}"), event.parameters, name);
            call.isOver = true;
            calls++;
          }
        }
        const open = parser.openCalls;
        assert.deepEqual(
          open.map(({ choice, number }) => `${choice} ${number}`),
          [...begun].filter(([, { isOver }]) => !isOver).map(([key]) => key),
          name,
        );
        const now = new Map();
        for (const { choice, number, parameters } of open) {
          const key = `${choice} ${number}`;
          // What has come stays, or is longer.
          const names = Object.keys(before.get(key) ?? {});
          assert.deepEqual(Object.keys(parameters).slice(0, names.length), names, name);
          for (const name of names.slice(0, -1)) assert.ok(Object.is(parameters[name], before.get(key)[name]));
          now.set(key, parameters);
        }
        before = now;
      };
      for (const chunk of pieces(bytes, bytes.length < 6000 ? 5 : 80)) take(parser.push(chunk));
      take(parser.finish());
      assert.deepEqual(parser.openCalls, [], name);
      parser.free();
    }
    assert.ok(calls >= 3, `${calls}`);
  });

  test(`${provider}: the value grows to the first record of the response`, () => {
    let records = 0;
    for (const { name, bytes } of all) {
      const found = read(new ResponseParser(provider, { textAs: "records" }), [bytes]).filter(
        ({ type, choice }) => type === "record" && choice === 0,
      );
      const elements = read(new ResponseParser(provider, { textAs: "records" }), [bytes]).filter(({ type }) => type === "record");
      for (const size of [bytes.length < 6000 ? 5 : 80, 1e6]) {
        const list = new Live({ provider, list: true });
        for (const chunk of pieces(bytes, size)) {
          list.push(chunk);
          assert.ok(list.value.every((element) => element !== undefined), name);
        }
        list.finish();
        assert.deepEqual(list.value, found.map(({ value }) => value), name);
        assert.equal(list.report.records, elements.length, name);
        list.free();
      }
      records += found.length;
    }
    assert.ok(records > 5, `${records}`);
  });
}

const SYNTAXES = JSON.parse(readFileSync(path("crates/tokenline-core/src/call_format/syntaxes.json"), "utf8"));
const TOOLS = [{ name: "weather" }, { name: "now" }];
const PARAMETERS = { city: "Paris" };

/** The texts in which an example is to be found, and the formats that are asked for. */
function* callsInText() {
  for (const { name, example } of SYNTAXES) {
    for (const callFormat of ["auto", name]) {
      yield { name, callFormat, isAlone: true, text: example };
      yield { name, callFormat, isAlone: false, text: `Let me see.\n${example}\n` };
    }
  }
}

test("calls in text, in every syntax, at every cut", (t) => {
  const names = new Set();
  let cuts = 0;
  for (const { name, callFormat, isAlone, text } of callsInText()) {
    const make = () => new ToolCallParser({ tools: TOOLS, callFormat, showValues: true });
    const whole = read(make(), [text]);
    const found = whole.filter(({ type }) => type === "tool_call");
    const context = `${name} as ${callFormat}: ${text}`;
    assert.equal(found[0]?.name, "weather", context);
    if (text.includes("Paris")) assert.deepEqual(found[0].parameters, PARAMETERS, context);
    const bytes = Buffer.from(text);
    const isEvery = EXHAUSTIVE || (callFormat === "auto" && isAlone);
    const cut = isEvery ? [...halves(text), ...(EXHAUSTIVE ? halves(bytes) : [])] : [];
    for (const chunks of [...cut, ...[1, 2, 7].map((size) => pieces(text, size)), pieces(bytes, 1)]) {
      assert.deepEqual(read(make(), chunks), whole, `${context} ${JSON.stringify(chunks)}`);
      cuts++;
    }
    names.add(name);
  }
  assert.ok(names.size > 40, `${names.size}`);
  t.diagnostic(`${names.size} syntaxes, ${cuts} cuts`);
});

test("calls in text are those of the program", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "tokenline-js-"));
  try {
    const tools = join(folder, "tools.json");
    writeFileSync(tools, JSON.stringify(TOOLS));
    const all = [...callsInText()].map((found, at) => ({ ...found, file: join(folder, `${at}.txt`) }));
    for (const { file, text } of all) writeFileSync(file, text);
    for (const format of new Set(all.map(({ callFormat }) => callFormat))) {
      const its = all.filter(({ callFormat }) => callFormat === format);
      const files = its.map(({ file }) => file);
      const expected = printed(files, "--tools", tools, "--call-format", format);
      for (const { name, file, text } of its) {
        const events = read(new ToolCallParser({ tools: TOOLS, callFormat: format, showValues: true }), pieces(text, 4));
        assert.deepEqual(events.map(asProgram), expected(file), `${name} as ${format}: ${text}`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the names of call formats are those of the program", { skip }, () => {
  const formats = execFileSync(PROGRAM, ["tools", "formats"]).toString();
  for (const { name } of SYNTAXES) {
    assert.ok(formats.includes(name), name);
    new ToolCallParser({ callFormat: name }).free();
  }
  for (const model of SYNTAXES.flatMap(({ models }) => models ?? [])) new ToolCallParser({ callFormat: model }).free();
  assert.throws(() => new ToolCallParser({ callFormat: "hermse" }), { code: "invalid_option", message: 'unknown callFormat "hermse"' });
});

test("native calls and calls in text alike", async () => {
  for (const provider of PROVIDERS) {
    const all = responses(provider);
    const inText = all.find(({ name }) => basename(name, extname(name)).startsWith("call-in-text"));
    if (!inText) continue;
    for (const source of [inText.bytes, pieces(inText.bytes, 9)]) {
      const calls = await providers.toolCalls(source, { provider }).toArray();
      assert.deepEqual(calls.map(({ name, parameters }) => [name, parameters]), [["search", { query: "fjord" }]], provider);
    }
  }
  const calls = await toolCalls('Sure. <tool_call>{"name":"a","arguments":{"x":1}}</tool_call> and\n[b(y="z")]', { tools: [{ name: "a" }, { name: "b" }] }).toArray();
  assert.deepEqual(calls.map(({ name, parameters }) => [name, parameters]), [["a", { x: 1 }], ["b", { y: "z" }]]);
});
