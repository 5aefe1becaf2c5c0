// Where chunks come from, and how a stream treats its source.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import test from "node:test";
import { TokenlineError } from "../dist/index.js";
import * as providers from "../dist/providers.js";
import { JsonlParser, Live, RecordTransform, ToolCallTransform, live, records, toolCalls, validate } from "../dist/index.js";
import { pieces } from "./fixtures.mjs";

const TEXT = '{"a":1}\n{"a":"é😀"}\n{"a":[true]}\n';
const BYTES = new TextEncoder().encode(TEXT);
const VALUES = [{ a: 1 }, { a: "é😀" }, { a: [true] }];

const all = (source, options) => records(source, options).toArray();

/** A `ReadableStream` of chunks, with what was asked of it. */
function readable(chunks, { isOpen = false, strategy = { highWaterMark: 0 } } = {}) {
  const rest = [...chunks];
  const log = { pulled: 0, cancelled: [] };
  const stream = new ReadableStream(
    {
      pull(controller) {
        log.pulled++;
        if (rest.length > 0) controller.enqueue(rest.shift());
        else if (!isOpen) controller.close();
        else return new Promise(() => {});
      },
      cancel: (reason) => void log.cancelled.push(reason),
    },
    strategy,
  );
  return { stream, log };
}

/** An async iterable by hand, with what was asked of it. */
function iterable(chunks, { error, isAsync = true } = {}) {
  const log = { asked: 0, returned: 0 };
  const wait = (step) => (isAsync ? Promise.resolve(step) : step);
  const iterator = {
    next() {
      const value = chunks[log.asked++];
      if (value !== undefined) return wait({ done: false, value });
      if (!error) return wait({ done: true, value: undefined });
      if (isAsync) return Promise.reject(error);
      throw error;
    },
    return() {
      log.returned++;
      return wait({ done: true, value: undefined });
    },
  };
  const source = { [isAsync ? Symbol.asyncIterator : Symbol.iterator]: () => iterator };
  return { source, log };
}

test("every kind of source, in bytes and in text, in chunks of several sizes", async () => {
  const kinds = {
    text: () => TEXT,
    bytes: () => BYTES,
    ArrayBuffer: () => BYTES.slice().buffer,
    DataView: () => new DataView(BYTES.buffer, BYTES.byteOffset, BYTES.byteLength),
    Buffer: () => Buffer.from(BYTES),
    Response: () => new Response(TEXT),
    "Response of bytes": () => new Response(BYTES),
    "a promise of a Response": () => Promise.resolve(new Response(TEXT)),
    "a promise of a promise": () => Promise.resolve(Promise.resolve([TEXT])),
    "a Response by another fetch": () => ({ ok: true, status: 200, body: readable([BYTES]).stream }),
    "a Blob's stream": () => new Blob([TEXT]).stream(),
    "a DecompressionStream": () =>
      new Blob([TEXT]).stream().pipeThrough(new CompressionStream("gzip")).pipeThrough(new DecompressionStream("gzip")),
    "a TextDecoderStream": () => new Blob([TEXT]).stream().pipeThrough(new TextDecoderStream()),
  };
  for (const [name, source] of Object.entries(kinds)) assert.deepEqual(await all(source()), VALUES, name);
  const many = {
    array: (chunks) => chunks,
    set: (chunks) => new Set(chunks),
    generator: function* (chunks) {
      yield* chunks;
    },
    "async generator": async function* (chunks) {
      for (const chunk of chunks) {
        await turn();
        yield chunk;
      }
    },
    ReadableStream: (chunks) => readable(chunks).stream,
    "ReadableStream, read ahead": (chunks) => readable(chunks, { strategy: { highWaterMark: 3 } }).stream,
    "an async iterable by hand": (chunks) => iterable(chunks).source,
    "an iterable by hand": (chunks) => iterable(chunks, { isAsync: false }).source,
    "Node Readable": (chunks) => Readable.from(chunks),
    "ArrayBuffers": (chunks) => chunks.map((chunk) => (typeof chunk === "string" ? chunk : chunk.slice().buffer)),
    "other views": (chunks) => chunks.map((chunk) => (typeof chunk === "string" ? chunk : new DataView(chunk.slice().buffer))),
  };
  for (const [name, source] of Object.entries(many)) {
    for (const input of [TEXT, BYTES]) {
      for (const size of name === "set" ? [1000] : [1, 3, 1000]) {
        const chunks = pieces(input, size).flatMap((chunk) => [chunk, chunk.slice(0, 0)]);
        assert.deepEqual(await all(source(chunks)), VALUES, `${name} of ${typeof input} in ${size}`);
      }
    }
  }
  const decoded = new Readable({ read() {}, encoding: "utf8" });
  decoded.push(BYTES.subarray(0, 19));
  decoded.push(BYTES.subarray(19));
  decoded.push(null);
  assert.deepEqual(await all(decoded), VALUES);
  // A source that mixes them.
  assert.deepEqual(await all(['{"a":', BYTES.subarray(5), new ArrayBuffer(0)]), VALUES);
});

test("a byte source, and an HTTP response", async () => {
  const stream = new ReadableStream({
    type: "bytes",
    start(controller) {
      controller.enqueue(BYTES.slice());
      controller.close();
    },
  });
  assert.deepEqual(await all(stream), VALUES);
  const server = createServer(async (request, response) => {
    if (request.url === "/missing") {
      response.writeHead(404, { "content-type": "application/json" });
      response.end('{"error":{"message":"model `x` is not there"}}');
    } else {
      for (const chunk of pieces(BYTES, 7)) {
        response.write(chunk);
        await sleep(1);
      }
      response.end();
    }
  }).listen(0);
  await once(server, "listening");
  const url = `http://localhost:${server.address().port}`;
  try {
    assert.deepEqual(await all(fetch(url)), VALUES);
    assert.deepEqual(await all(await fetch(url)), VALUES);
    const missing = { name: "TokenlineError", code: "http_error", status: 404 };
    await assert.rejects(all(fetch(`${url}/missing`)), { ...missing, message: 'HTTP 404 Not Found: {"error":{"message":"model `x` is not there"}}' });
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await assert.rejects(all(fetch(url)), { name: "TypeError", message: "fetch failed" });
});

test("a Response that is no success, or has no body", async () => {
  for (const use of [records, live, toolCalls, (source) => providers.responses(source, { provider: "anthropic" })]) {
    const stream = use(new Response("overloaded, come back later\n", { status: 529 }));
    await assert.rejects(stream.next(), (error) => {
      assert.ok(error instanceof TokenlineError);
      assert.deepEqual([error.code, error.status, error.message], ["http_error", 529, "HTTP 529: overloaded, come back later"]);
      return true;
    });
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.equal(stream.report.complete, false);
  }
  await assert.rejects(validate(new Response("", { status: 500, statusText: "Oh no" })), { message: "HTTP 500 Oh no" });
  const long = await all(new Response("x".repeat(100_000), { status: 500 })).catch((error) => error);
  assert.ok(long.message.length < 400);
  assert.deepEqual(await all(new Response(null)), []);
  assert.deepEqual(await all(new Response(null, { status: 204 })), []);
  const used = new Response(TEXT);
  await used.text();
  await assert.rejects(all(used), { name: "TypeError" });
});

test("what is no source, and what is no chunk, is named", async () => {
  const cannot = (kind) => ({
    code: "unsupported_source",
    message: `cannot read from ${kind}; expected a Response, a ReadableStream, an (async) iterable, a string or bytes`,
  });
  for (const [source, kind] of [
    [undefined, "undefined"],
    [null, "null"],
    [7, "number"],
    [{ choices: [] }, "Object"],
    [new URL("http://localhost"), "URL"],
    [new Blob(["{}"]), "Blob"],
    [() => "{}", "function"],
    [Promise.resolve(undefined), "undefined"],
  ]) {
    await assert.rejects(all(source), cannot(kind));
  }
  for (const [chunk, kind] of [[7, "number"], [null, "null"], [undefined, "undefined"], [true, "boolean"], [1n, "bigint"]]) {
    await assert.rejects(all(["{}\n", chunk]), { code: "unsupported_source", message: `a chunk must be a string or bytes, not ${kind}` });
  }
  await assert.rejects(all([{ choices: [] }]), {
    code: "unsupported_source",
    message: "a chunk must be a string or bytes, not Object; for the stream of a provider's SDK, say which `provider`",
  });
  await assert.rejects(providers.records([[1]], { provider: "bedrock" }).toArray(), {
    code: "unsupported_source",
    message: "a chunk must be the bytes of bedrock's response, not an object of its SDK",
  });
  // What came before is delivered, and the source is closed.
  const { source, log } = iterable(['{"a":1}\n{"b":2', 7]);
  const stream = records(source);
  assert.deepEqual(await stream.next(), { done: false, value: { a: 1 } });
  await assert.rejects(stream.next(), { code: "unsupported_source" });
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
  assert.equal(log.returned, 1);
  for (const parser of [new JsonlParser(), new Live(), new providers.ResponseParser("anthropic")]) {
    for (const chunk of [7, null, undefined, {}, [1, 2], true]) {
      assert.throws(() => parser.push(chunk), { code: "unsupported_source" }, `${chunk}`);
    }
    parser.push(new DataView(BYTES.slice().buffer));
    parser.push(BYTES.slice().buffer);
    parser.push(new Uint16Array(BYTES.slice(0, 2).buffer));
    parser.free();
  }
});

/** A stream of OpenAI's SDK. */
const CHUNKS = [
  { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { role: "assistant", content: '{"a":1}\n{"a"' } }] },
  { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: ":2}\n" } }] },
  { id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
];
const sse = (object) => `data: ${JSON.stringify(object)}\n\n`;

test("the objects of a provider's SDK", async () => {
  const options = { provider: "openai-chat" };
  const sdk = async function* () {
    yield* CHUNKS;
  };
  const stream = providers.records(sdk(), options);
  assert.deepEqual(await stream.toArray(), [{ a: 1 }, { a: 2 }]);
  // The objects have no terminator.
  assert.equal(stream.report.rejected, 0);
  assert.deepEqual(await providers.records(Promise.resolve(readable(CHUNKS).stream), options).toArray(), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(await providers.records(CHUNKS.map(sse), options).toArray(), [{ a: 1 }, { a: 2 }]);
  const anthropic = [
    { type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t1", name: "weather", input: {} } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"city":"Par' } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: 'is"}' } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];
  const [call, ...others] = await providers.toolCalls(anthropic, { provider: "anthropic" }).toArray();
  assert.deepEqual([call.name, call.parameters, call.id, call.completion, others], ["weather", { city: "Paris" }, "t1", "item_stop", []]);
  const ollama = [
    { model: "m", message: { role: "assistant", content: '{"a":' }, done: false },
    { model: "m", message: { role: "assistant", content: "1}\n" }, done: false },
    { model: "m", message: { role: "assistant", content: "" }, done: true, done_reason: "stop" },
  ];
  const ollamas = providers.records(ollama, { provider: "ollama" });
  assert.deepEqual(await ollamas.toArray(), [{ a: 1 }]);
  assert.equal(ollamas.report.complete, true);
});

test("`break` cancels the source, once", async () => {
  const { stream, log } = readable([TEXT, TEXT], { isOpen: true });
  for await (const record of records(stream)) {
    assert.deepEqual(record, { a: 1 });
    break;
  }
  assert.deepEqual(log, { pulled: 1, cancelled: [undefined] });
  const { stream: thrown, log: log2 } = readable([TEXT], { isOpen: true });
  await assert.rejects(async () => {
    for await (const _record of records(thrown)) throw new Error("of the consumer");
  }, /of the consumer/);
  assert.equal(log2.cancelled.length, 1);
  for (const isAsync of [true, false]) {
    const { source, log } = iterable([TEXT, TEXT], { isAsync });
    for await (const _record of records(source)) break;
    assert.deepEqual(log, { asked: 1, returned: 1 });
  }
  let isClosed = false;
  const generator = async function* () {
    try {
      yield TEXT;
      yield TEXT;
    } finally {
      isClosed = true;
    }
  };
  for await (const _record of records(generator())) break;
  assert.equal(isClosed, true);
  const node = new Readable({ read() {} });
  node.push(TEXT);
  for await (const _record of records(node)) break;
  assert.equal(node.destroyed, true);
});

test("a source that has ended is not cancelled", async () => {
  for (const isAsync of [true, false]) {
    const { source, log } = iterable([TEXT], { isAsync });
    const stream = records(source);
    assert.deepEqual(await stream.toArray(), VALUES);
    await stream.return();
    assert.equal(log.returned, 0);
  }
  const { stream, log } = readable([TEXT]);
  assert.deepEqual(await all(stream), VALUES);
  assert.equal(log.cancelled.length, 0);
});

test("an early return ends the stream, again and again", async () => {
  const { stream, log } = readable([TEXT], { isOpen: true });
  const found = records(stream);
  await found.next();
  assert.deepEqual(await found.return(), { done: true, value: undefined });
  assert.deepEqual(await found.return(), { done: true, value: undefined });
  assert.deepEqual(await found.next(), { done: true, value: undefined });
  await assert.rejects(found.throw(new Error("thrown")), /thrown/);
  await found[Symbol.asyncDispose]();
  assert.equal(log.cancelled.length, 1);
  assert.equal(found.report.records, 3);
  assert.equal(found.report.complete, false);
});

test("a return before the first chunk cancels the source", async () => {
  const { stream, log } = readable([TEXT], { isOpen: true });
  const found = records(stream);
  await found.return();
  await turn();
  assert.equal(log.cancelled.length, 1);
  assert.deepEqual(await found.next(), { done: true, value: undefined });
  // A response that comes later, too.
  const later = readable([TEXT], { isOpen: true });
  let respond;
  const waiting = records(new Promise((resolve) => (respond = resolve)));
  const next = waiting.next();
  await turn();
  await waiting.return();
  respond(new Response(later.stream));
  assert.deepEqual(await next, { done: true, value: undefined });
  await turn();
  assert.equal(later.log.cancelled.length, 1);
});

test("a return while the source is waited for", async () => {
  const { stream, log } = readable(['{"a":1'], { isOpen: true });
  const found = records(stream);
  const next = found.next();
  await turn();
  await found.return();
  assert.deepEqual(await next, { done: true, value: undefined });
  assert.equal(log.cancelled.length, 1);
});

test("`await using` frees the stream, and `using` a parser", async () => {
  const { stream, log } = readable([TEXT], { isOpen: true });
  const found = records(stream);
  await found.next();
  await found[Symbol.asyncDispose]();
  assert.equal(log.cancelled.length, 1);
  const parser = new JsonlParser();
  parser[Symbol.dispose]();
  parser[Symbol.dispose]();
  parser.free();
});

test("a signal that was aborted before", async () => {
  const signal = AbortSignal.abort();
  const { stream, log } = readable([TEXT], { isOpen: true });
  const found = records(stream, { signal });
  await assert.rejects(found.next(), { name: "AbortError" });
  assert.deepEqual(await found.next(), { done: true, value: undefined });
  await turn();
  assert.deepEqual(log, { pulled: 0, cancelled: [signal.reason] });
  // Also if the source would never open.
  const reason = new Error("of the user");
  await assert.rejects(all(new Promise(() => {}), { signal: AbortSignal.abort(reason) }), reason);
});

test("a signal that is aborted meanwhile: what is complete comes first, then the reason, once", async () => {
  const sources = {
    stream: () => readable([TEXT], { isOpen: true }).stream,
    "a generator that waits": async function* () {
      yield TEXT;
      await new Promise(() => {});
    },
    "a generator that yields nothing": async function* () {
      yield TEXT;
      for (;;) await sleep(1);
    },
  };
  for (const [name, source] of Object.entries(sources)) {
    const controller = new AbortController();
    const found = records(source(), { signal: controller.signal });
    assert.deepEqual((await found.next()).value, { a: 1 }, name);
    const reason = new Error("enough");
    controller.abort(reason);
    assert.deepEqual((await found.next()).value, VALUES[1], name);
    assert.deepEqual((await found.next()).value, VALUES[2], name);
    await assert.rejects(found.next(), reason, name);
    assert.deepEqual(await found.next(), { done: true, value: undefined });
    assert.equal(found.report.complete, false);
  }
  // While it waits for a chunk, and for a response.
  const { stream, log } = readable(['{"a":1}\n{"cut'], { isOpen: true });
  for (const source of [stream, new Promise(() => {}), sources["a generator that waits"]()]) {
    const controller = new AbortController();
    const found = records(source, { signal: controller.signal });
    setTimeout(() => controller.abort(), 20);
    await assert.rejects(async () => {
      for await (const _record of found);
    }, { name: "AbortError" });
  }
  assert.equal(log.cancelled.length, 1);
  assert.equal(log.cancelled[0].name, "AbortError");
  // The timer of a signal keeps no process alive.
  const alive = setInterval(() => {}, 1000);
  const timed = readable([], { isOpen: true });
  await assert.rejects(all(timed.stream, { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
  clearInterval(alive);
  assert.equal(timed.log.cancelled.length, 1);
});

test("an iterator is told once of an abort, and not of one after the end", async () => {
  const controller = new AbortController();
  const { source, log } = iterable([TEXT, TEXT]);
  const found = records(source, { signal: controller.signal });
  await found.next();
  controller.abort();
  await assert.rejects(found.toArray(), { name: "AbortError" });
  assert.equal(log.returned, 1);
  const late = new AbortController();
  const ended = iterable([TEXT]);
  assert.equal((await all(ended.source, { signal: late.signal })).length, 3);
  late.abort();
  assert.equal(ended.log.returned, 0);
});

test("streams leave nothing on a signal that outlives them", async () => {
  const warnings = [];
  const warn = (warning) => warnings.push(warning);
  process.on("warning", warn);
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...all) => (listeners++, addEventListener.apply(signal, all));
  signal.removeEventListener = (...all) => (listeners--, removeEventListener.apply(signal, all));
  for (let count = 0; count < 30; count++) {
    await all(TEXT, { signal });
    for await (const _record of records([TEXT], { signal })) break;
    await assert.rejects(all(iterable([TEXT], { error: new Error("of the source") }).source, { signal }), /of the source/);
    await assert.rejects(all([TEXT, 7], { signal }), { code: "unsupported_source" });
    await assert.rejects(all('{"a" 1}\n', { signal, strict: true }), { code: "malformed_json" });
  }
  await turn();
  process.off("warning", warn);
  assert.equal(listeners, 0);
  assert.deepEqual(warnings, []);
});

test("the source is read no faster than the consumer", async () => {
  const chunks = Array.from({ length: 20 }, (_, at) => `{"a":${at}}\n`);
  for (const use of [records, live]) {
    const { source, log } = iterable(chunks);
    const found = use(source, use === live ? { list: true } : {});
    assert.equal(log.asked, 0, "nothing before the first result is asked for");
    for (let count = 1; count <= 10; count++) {
      await found.next();
      await turn();
      assert.equal(log.asked, count);
    }
    await found.return();
  }
  const { stream, log } = readable(chunks);
  const found = records(stream);
  await found.next();
  await sleep(5);
  assert.equal(log.pulled, 1);
  // Through a transform stream, too: a chunk waits in each queue.
  const behind = readable(chunks);
  const reader = behind.stream.pipeThrough(new RecordTransform()).getReader();
  await reader.read();
  await sleep(5);
  assert.ok(behind.log.pulled <= 4, `${behind.log.pulled}`);
});

test("an error of the source: what is complete comes first, then the error, once", async () => {
  const error = new Error("connection reset");
  const failing = {
    "async iterable": () => iterable(['{"a":1}\n', '{"a":2}\n{"a":3}\n{"cut'], { error }),
    iterable: () => iterable(['{"a":1}\n', '{"a":2}\n{"a":3}\n{"cut'], { error, isAsync: false }),
    generator: () => ({
      source: (async function* () {
        yield '{"a":1}\n{"a":2}\n{"a":3}\n{"cut';
        throw error;
      })(),
    }),
    ReadableStream: () => ({
      source: new ReadableStream({
        start(controller) {
          controller.enqueue('{"a":1}\n{"a":2}\n');
        },
        pull(controller) {
          controller.enqueue('{"a":3}\n{"cut');
          controller.error(error);
        },
      }),
    }),
    "Node Readable": () => ({
      source: Readable.from(
        (async function* () {
          yield '{"a":1}\n{"a":2}\n{"a":3}\n{"cut';
          throw error;
        })(),
      ),
    }),
  };
  for (const [name, make] of Object.entries(failing)) {
    const { source, log } = make();
    const found = records(source);
    const seen = [];
    await assert.rejects(
      async () => {
        for await (const record of found) seen.push(record.a);
      },
      error,
      name,
    );
    // A stream that fails drops what is in its queue.
    assert.deepEqual(seen, name === "ReadableStream" ? seen : [1, 2, 3], name);
    assert.deepEqual(await found.next(), { done: true, value: undefined }, name);
    assert.equal(found.report.complete, false);
    assert.equal(found.report.codes.truncated ?? 0, name === "ReadableStream" ? (found.report.codes.truncated ?? 0) : 1, name);
    if (log) assert.equal(log.returned, 0, "one that has failed is not told to return");
  }
  await assert.rejects(all(Promise.reject(error)), error);
  await assert.rejects(validate(iterable([TEXT], { error }).source), error);
});

test("a record whose brackets balance is delivered although the source fails behind it", async () => {
  const { source } = iterable(['{"a":1}\n{"a":2}'], { error: new Error("reset") });
  const found = records(source);
  assert.deepEqual((await found.next()).value, { a: 1 });
  assert.deepEqual((await found.next()).value, { a: 2 });
  await assert.rejects(found.next(), /reset/);
  assert.equal(found.report.complete, false);
});

test("`strict`: the first reject is an error, with what came before", async () => {
  const text = 'Sure:\n{"a":1}\n{"a" 2}\n{"a":3}\n';
  for (const source of [text, [...text], iterable([text]).source, readable([text]).stream]) {
    const found = records(source, { strict: true });
    assert.deepEqual(await found.next(), { done: false, value: { a: 1 } });
    await assert.rejects(found.next(), (error) => {
      assert.ok(error instanceof TokenlineError);
      assert.deepEqual([error.code, error.line, error.column], ["malformed_json", 3, 6]);
      assert.equal(error.message, "3:6: expected `:` after the name, found a number");
      assert.equal(error.reject.type, "reject");
      return true;
    });
    assert.deepEqual(await found.next(), { done: true, value: undefined });
    assert.deepEqual([found.report.records, found.report.rejected, found.report.notes], [1, 1, 1]);
  }
  const { source, log } = iterable([text, text]);
  await assert.rejects(all(source, { strict: true }), { code: "malformed_json" });
  assert.equal(log.returned, 1);
  await assert.rejects(validate(text, { strict: true }), { code: "malformed_json" });
  await assert.rejects(live(text, { strict: true, list: true }).toArray(), { code: "malformed_json" });
  await assert.rejects(toolCalls('<tool_call>{"name":"f","arguments":{"a" 1}}</tool_call>', { strict: true }).toArray(), TokenlineError);
});

test("`onReject` is called for each reject, in order, and its error ends the stream", async () => {
  const text = '{"a":1}\n{"a" 2}\nprose\n{"a":3}\n{"a":4';
  const rejects = [];
  const values = await all(text, { onReject: (reject) => rejects.push([reject.type, reject.code, reject.line]) });
  assert.deepEqual(values, [{ a: 1 }, { a: 3 }]);
  assert.deepEqual(rejects, [["reject", "malformed_json", 2], ["reject", "truncated", 5]]);
  const error = new Error("of the callback");
  const onReject = () => {
    throw error;
  };
  const { source, log } = iterable([text, text]);
  const found = records(source, { onReject });
  assert.deepEqual(await found.next(), { done: false, value: { a: 1 } });
  await assert.rejects(found.next(), error);
  assert.deepEqual(await found.next(), { done: true, value: undefined });
  assert.equal(log.returned, 1);
});

test("a source that gives something else than results ends with an error, once", async () => {
  for (const odd of [undefined, null, 7]) {
    for (const isAsync of [false, true]) {
      let returned = 0;
      let asked = 0;
      const next = () => (asked++ === 1 ? (isAsync ? Promise.resolve(odd) : odd) : { done: false, value: '{"a":1}\n' });
      const iterator = { next, return: () => (returned++, { done: true }) };
      const found = records({ [isAsync ? Symbol.asyncIterator : Symbol.iterator]: () => iterator });
      assert.deepEqual(await found.next(), { done: false, value: { a: 1 } });
      await assert.rejects(found.next(), TypeError);
      assert.deepEqual(await found.next(), { done: true, value: undefined });
      assert.deepEqual([asked, returned], [2, 0], `${odd}`);
    }
  }
});

test("a source may fail before it is read, and a schema may end its stream", async () => {
  const unhandled = [];
  const note = (error) => unhandled.push(error);
  process.on("unhandledRejection", note);
  const failing = records(Promise.reject(new Error("refused")));
  await sleep(5);
  process.off("unhandledRejection", note);
  assert.deepEqual(unhandled, []);
  await assert.rejects(failing.next(), /refused/);
  async function* source() {
    yield '{"i":2}';
    throw new Error("reset");
  }
  const schema = { "~standard": { version: 1, vendor: "ours", validate: (value) => sleep(20).then(() => ({ value })) } };
  const found = records(source(), { schema });
  const next = found.next();
  await sleep(5);
  assert.deepEqual(await found.return(), { done: true, value: undefined });
  assert.deepEqual(await next, { done: true, value: undefined });
});

test("whatever `onReject` throws ends the stream", async () => {
  const onReject = () => {
    throw undefined;
  };
  const found = records('{"a":1}\n{"a" 2}\n{"a":3}\n', { onReject });
  assert.deepEqual(await found.next(), { done: false, value: { a: 1 } });
  assert.equal(await found.next().then(() => "delivered", (error) => error), undefined);
  assert.deepEqual(await found.next(), { done: true, value: undefined });
});

test("`onReject` may end the stream, abort it, and use other parsers", async () => {
  const text = '{"a":1}\n{"a" 2}\n{"a":3}\n';
  const found = records([text, text], { onReject: () => void found.return() });
  assert.deepEqual(await found.toArray(), []);
  // Although more of the chunk is to be read.
  for (const chunk of [text.repeat(10_000), Buffer.from(text.repeat(10_000)), `${text}\ud83d`.repeat(10_000)]) {
    let count = 0;
    const large = records([chunk], { onReject: () => (count++, void large.return()) });
    assert.deepEqual(await large.toArray(), []);
    assert.ok(count > 0);
    const live = new Live({ list: true, onComplete: () => live.free() });
    live.push(chunk);
    live.finish();
  }
  assert.deepEqual(await all(TEXT), VALUES);
  const controller = new AbortController();
  await assert.rejects(all([text, text], { signal: controller.signal, onReject: () => controller.abort() }), { name: "AbortError" });
  const inside = [];
  const outer = await all(text, {
    onReject() {
      const parser = new JsonlParser();
      // The memory of the module grows.
      inside.push(...parser.push(`{"b":"${"x".repeat(5_000_000)}"}\n`));
      parser.free();
    },
  });
  assert.deepEqual(outer, [{ a: 1 }, { a: 3 }]);
  assert.equal(inside[0].value.b.length, 5_000_000);
});

test("calls of `next` that do not wait for each other are answered in order", async () => {
  const chunks = Array.from({ length: 30 }, (_, at) => (at % 3 === 0 ? `{"a":${at}}\n{"a":${at + 1}}\n{"a":${at + 2}}\n` : ""));
  for (const make of [() => iterable(chunks).source, () => readable(chunks).stream, () => chunks]) {
    const found = records(make());
    const order = [];
    const ask = () => found.next().then(({ value, done }) => order.push(done ? "done" : value.a));
    const first = ask();
    const others = [ask(), ask(), ask()];
    await first;
    others.push(ask(), ask());
    await others[0];
    others.push(...Array.from({ length: 30 }, ask));
    await Promise.all(others);
    assert.deepEqual(order, [...Array(30).keys(), ...Array(6).fill("done")]);
  }
  const error = new Error("reset");
  const found = records(iterable(['{"a":1}\n'], { error }).source);
  const settled = await Promise.allSettled([found.next(), found.next(), found.next(), found.next()]);
  assert.deepEqual(
    settled.map(({ status, value, reason }) => reason?.message ?? value?.value ?? status),
    [{ a: 1 }, "reset", "fulfilled", "fulfilled"],
  );
});

test("transform streams", async () => {
  const collect = async (stream) => {
    const seen = [];
    for await (const item of stream) seen.push(item);
    return seen;
  };
  for (const input of [TEXT, BYTES]) {
    for (const size of [1, 3, 1000]) {
      assert.deepEqual(await collect(readable(pieces(input, size)).stream.pipeThrough(new RecordTransform())), VALUES);
    }
  }
  const calls = '<tool_call>{"name":"f","arguments":{"a":1}}</tool_call>\n';
  const found = await collect(readable([calls]).stream.pipeThrough(new ToolCallTransform()));
  assert.deepEqual(found.map(({ name, parameters }) => [name, parameters]), [["f", { a: 1 }]]);
  // Options.
  const rejects = [];
  const onReject = (reject) => rejects.push(reject.code);
  assert.deepEqual(await collect(readable(['{"a" 1}\n{"a":2}\n']).stream.pipeThrough(new RecordTransform({ onReject }))), [{ a: 2 }]);
  assert.deepEqual(rejects, ["malformed_json"]);
  const strict = readable(['{"a":1}\n{"a" 1}\n{"a":2}\n'], { isOpen: true });
  const reader = strict.stream.pipeThrough(new RecordTransform({ strict: true })).getReader();
  // Errors propagate forwards, at once, and backwards.
  const seen = [];
  await assert.rejects(
    async () => {
      for (;;) seen.push((await reader.read()).value);
    },
    { code: "malformed_json" },
  );
  await turn();
  assert.equal(strict.log.cancelled.length, 1);
  assert.equal(strict.log.cancelled[0].code, "malformed_json");
  // An error of the source.
  const failing = new ReadableStream({
    pull(controller) {
      controller.error(new Error("reset"));
    },
  });
  await assert.rejects(collect(failing.pipeThrough(new RecordTransform())), /reset/);
  // Cancelling reaches the source.
  const open = readable([TEXT], { isOpen: true });
  const piped = open.stream.pipeThrough(new RecordTransform()).getReader();
  assert.deepEqual((await piped.read()).value, { a: 1 });
  await piped.cancel("enough");
  await turn();
  assert.deepEqual(open.log.cancelled, ["enough"]);
  await assert.rejects(collect(readable([7]).stream.pipeThrough(new RecordTransform())), { code: "unsupported_source" });
  assert.throws(() => new RecordTransform({ mode: "srict" }), { code: "invalid_option" });
  const counting = new RecordTransform();
  await collect(readable(['{"a":1}\n{"a" 1}\n']).stream.pipeThrough(counting));
  assert.deepEqual([counting.report.records, counting.report.rejected, counting.report.complete], [1, 1, true]);
  // The connection stays open after the response.
  const sse = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: '{"a":1}\n' } }] })}\n\ndata: [DONE]\n\n`;
  const kept = readable([sse], { isOpen: true });
  const ofResponse = new providers.RecordTransform({ provider: "openai-chat" });
  assert.deepEqual(await collect(kept.stream.pipeThrough(ofResponse)), [{ a: 1 }]);
  await turn();
  assert.equal(kept.log.cancelled.length, 1);
  assert.equal(ofResponse.report.complete, true);
  const strategies = new RecordTransform({}, { highWaterMark: 4 }, { highWaterMark: 2 });
  assert.equal(strategies.writable.getWriter().desiredSize, 4);
});

test("`report`", async () => {
  const text = 'Sure:\n{"a":1}\n{"a" 2}\n{"a":3}\nprose\n';
  for (const found of [records(text), live(text, { list: true })]) {
    assert.equal(found.report.records, 0);
    await found.toArray();
    const { codes, diagnostics, ...counts } = found.report;
    assert.deepEqual({ ...codes }, { prose: 2, malformed_json: 1 });
    assert.deepEqual(counts, { records: 2, toolCalls: 0, rejected: 1, notes: 2, complete: true });
    assert.deepEqual(diagnostics.map(({ type, code, line }) => [type, code, line]), [
      ["note", "prose", 1],
      ["reject", "malformed_json", 3],
      ["note", "prose", 5],
    ]);
  }
  const few = records(text, { diagnostics: 1 });
  await few.toArray();
  assert.equal(few.report.diagnostics.length, 1);
  assert.equal(few.report.rejected + few.report.notes, 3);
  const report = await validate(text);
  assert.deepEqual([report.records, report.rejected, report.notes, report.complete], [2, 1, 2, true]);
  assert.equal((await validate(text, { diagnostics: 0 })).diagnostics.length, 0);
});

test("parsers after the end, and after they are freed", () => {
  const parser = new JsonlParser();
  assert.equal(parser.push('{"a":1}').length, 0);
  assert.deepEqual(parser.finish().map(({ value }) => value), [{ a: 1 }]);
  assert.equal(parser.report.complete, true);
  assert.deepEqual(parser.push('{"a":2}\n'), []);
  assert.deepEqual(parser.finish(), []);
  parser.reset();
  assert.deepEqual(parser.push('{"a":3}\n').map(({ value, line }) => [value, line]), [[{ a: 3 }, 1]]);
  assert.equal(parser.report.records, 2);
  parser.free();
  parser.free();
  assert.deepEqual(parser.push('{"a":4}\n'), []);
  assert.deepEqual(parser.finish(), []);
  assert.throws(() => parser.reset(), { code: "freed" });
  const grown = new Live();
  grown.push('{"a":1');
  grown.free();
  grown.push("2}");
  grown.finish();
  assert.deepEqual(grown.value, {});
  // Others still work: the number of a freed parser is another's.
  const next = new JsonlParser();
  parser.free();
  grown.free();
  assert.deepEqual(next.push('{"a":5}\n').map(({ value }) => value), [{ a: 5 }]);
});

test("many parsers, freed and not", async () => {
  for (let count = 0; count < 2000; count++) {
    const parser = new JsonlParser();
    parser.push('{"a":');
    if (count % 2 === 0) parser.free();
  }
  assert.deepEqual(await all(TEXT), VALUES);
});

const END = "data: [DONE]\n\n";

test("the end of a response ends the stream, although the source stays open", async () => {
  const body = [...CHUNKS.map(sse), END];
  for (const [use, count] of [
    [providers.records, 2],
    [providers.responses, undefined],
    [providers.live, undefined],
  ]) {
    const { stream, log } = readable(body, { isOpen: true });
    const found = use(stream, { provider: "openai-chat" });
    const seen = await found.toArray();
    if (count !== undefined) assert.equal(seen.length, count);
    assert.equal(found.report.complete, true);
    await turn();
    assert.equal(log.cancelled.length, 1);
  }
  // Not before its end.
  const { stream } = readable(body.slice(0, -1), { isOpen: true });
  const found = providers.records(stream, { provider: "openai-chat" });
  assert.deepEqual((await found.next()).value, { a: 1 });
  assert.deepEqual((await found.next()).value, { a: 2 });
  assert.equal(await Promise.race([found.next(), sleep(20, "waits")]), "waits");
  await found.return();
});

test("a response that breaks off is incomplete", async () => {
  const found = providers.records(CHUNKS.slice(0, 1), { provider: "openai-chat" });
  assert.deepEqual(await found.toArray(), [{ a: 1 }]);
  assert.equal(found.report.complete, false);
  assert.equal(found.report.codes.stream_incomplete, 1);
});
