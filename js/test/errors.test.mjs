// Where the WebAssembly module comes from, and what is said if it does not come.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import test from "node:test";
import { promisify } from "node:util";
import * as complete from "../dist/schema.js";
import { TokenlineError, init, initSync } from "../dist/slim.js";

const run = promisify(execFile);
const url = (name) => new URL(`../dist/${name}`, import.meta.url);
const wasm = (name) => readFile(url(`${name}.wasm`));

/** What a program prints that runs in a process of its own. */
async function printed(program, ...options) {
  const { stdout } = await run(process.execPath, ["--input-type=module", ...options, "--eval", program]);
  return stdout.trim();
}

const UNAVAILABLE =
  "unavailable: this JavaScript engine has no WebAssembly, which tokenline needs. React Native's Hermes has none: read the stream on a server, and send the app records";

test("an engine without WebAssembly: the import works, and the first use says what is missing", async () => {
  for (const entry of ["index", "live", "providers", "schema"]) {
    const program = `
      delete globalThis.WebAssembly;
      const { JsonlParser, records, validate } = await import(${JSON.stringify(url(`${entry}.js`).href)});
      const say = (error) => console.log(error.name + " " + error.code + ": " + error.message);
      try { new JsonlParser(); } catch (error) { say(error); }
      try { records("{}"); } catch (error) { say(error); }
      await validate("{}").catch(say);
    `;
    assert.deepEqual((await printed(program)).split("\n"), Array(3).fill(`TokenlineError ${UNAVAILABLE}`), entry);
  }
  const program = `
    delete globalThis.WebAssembly;
    const { init, initSync } = await import(${JSON.stringify(url("slim.js").href)});
    const say = (error) => console.log(error.code + ": " + error.message);
    try { initSync(new Uint8Array(8)); } catch (error) { say(error); }
    await init(new URL(${JSON.stringify(url("live.wasm").href)})).catch(say);
  `;
  assert.deepEqual((await printed(program)).split("\n"), Array(2).fill(UNAVAILABLE));
});

test("an import compiles nothing", async () => {
  const program = `
    for (const name of ["Module", "Instance"]) WebAssembly[name] = class { constructor() { console.log(name); } };
    await import(${JSON.stringify(url("schema.js").href)});
    await import(${JSON.stringify(url("slim.js").href)});
    console.log("imported");
  `;
  assert.equal(await printed(program), "imported");
});

test("code generation that is forbidden", async () => {
  const program = `
    WebAssembly.Module = class { constructor() { throw new WebAssembly.CompileError("Wasm code generation disallowed by embedder"); } };
    const { records } = await import(${JSON.stringify(url("live.js").href)});
    try { records("{}"); } catch (error) { console.log(error.code, error.cause.name, error.message); }
  `;
  const said = await printed(program);
  assert.match(said, /^unavailable CompileError the WebAssembly module cannot be compiled/);
  for (const hint of ["SIMD", "`wasm-unsafe-eval`", "`tokenline/slim`", "disallowed by embedder"]) assert.ok(said.includes(hint), hint);
});

const CORRUPTED = { name: "TokenlineError", code: "unavailable", message: /^the WebAssembly module cannot be compiled/ };

test("a module that is corrupted, or another", async () => {
  const bytes = await wasm("live");
  const broken = {
    nothing: new Uint8Array(0),
    "no module": new TextEncoder().encode("<!doctype html><title>404</title>"),
    truncated: bytes.subarray(0, bytes.length / 2),
    changed: bytes.map((byte, at) => (at === 100 ? byte ^ 0xff : byte)),
    another: Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0),
  };
  for (const [name, source] of Object.entries(broken)) {
    assert.throws(() => initSync(source), CORRUPTED, name);
    await assert.rejects(init(source), CORRUPTED, name);
    await assert.rejects(init(new Uint8Array(source).buffer), CORRUPTED, name);
    await assert.rejects(init(new Response(source)), CORRUPTED, name);
    await assert.rejects(init(new Response(source, { headers: { "content-type": "application/wasm" } })), CORRUPTED, name);
  }
  assert.throws(() => initSync(new WebAssembly.Module(broken.another)), CORRUPTED);
  const error = await init(broken.truncated).catch((error) => error);
  assert.ok(error instanceof TokenlineError);
  assert.ok(error.cause instanceof WebAssembly.CompileError);
});

/** Uses what `init` has returned. */
async function check(api, { hasCalls }) {
  assert.deepEqual(await api.records(['{"a":', "1}\n"]).toArray(), [{ a: 1 }]);
  const live = new api.Live();
  live.push('{"a":"x');
  assert.deepEqual(live.value, { a: "x" });
  assert.equal(new api.JsonlParser().push('{"a":1}\n').length, 1);
  if (hasCalls) assert.equal((await api.toolCalls('{"name":"f","arguments":{}}').toArray())[0].name, "f");
}

test("`slim`: bytes, a module, a response, a file's URL, and promises of them", async () => {
  for (const name of ["live", "calls", "providers", "schema"]) {
    const bytes = await wasm(name);
    const hasCalls = name !== "live";
    const sources = {
      Buffer: bytes,
      Uint8Array: new Uint8Array(bytes),
      ArrayBuffer: new Uint8Array(bytes).buffer,
      Module: new WebAssembly.Module(bytes),
    };
    for (const [kind, source] of Object.entries(sources)) {
      await check(initSync(source), { hasCalls });
      if (name === "live" || kind === "Module") await check(await init(source), { hasCalls });
    }
    if (name !== "live") continue;
    const wasmType = { headers: { "content-type": "application/wasm" } };
    for (const source of [
      new Response(bytes),
      new Response(bytes, wasmType),
      new Response(bytes, { headers: { "content-type": "application/octet-stream" } }),
      Promise.resolve(new Response(bytes, wasmType)),
      WebAssembly.compile(bytes),
      readFile(url("live.wasm")),
      url("live.wasm"),
      url("live.wasm").href,
    ]) {
      await check(await init(source), { hasCalls });
    }
  }
});

test("`slim`: a URL of a server", async () => {
  const server = createServer(async (request, response) => {
    if (request.url === "/live.wasm") response.writeHead(200, { "content-type": "application/wasm" }).end(await wasm("live"));
    else response.writeHead(404).end("not there");
  }).listen(0);
  await once(server, "listening");
  const base = `http://localhost:${server.address().port}`;
  try {
    await check(await init(new URL(`${base}/live.wasm`)), {});
    await check(await init(`${base}/live.wasm`), {});
    const missing = { code: "unavailable", status: 404, message: "the WebAssembly module: HTTP 404" };
    await assert.rejects(init(`${base}/lost.wasm`), missing);
    await assert.rejects(init(fetch(`${base}/lost.wasm`)), missing);
  } finally {
    server.close();
    server.closeAllConnections();
  }
  await assert.rejects(init(`${base}/live.wasm`), { code: "unavailable", message: /^the WebAssembly module cannot be loaded from http:/ });
});

test("`slim`: what is no module, and what is not there", async () => {
  await assert.rejects(init(new URL("file:///nowhere/live.wasm")), { code: "unavailable", message: /^the WebAssembly module cannot be loaded from file:\/\/\/nowhere\/live.wasm: / });
  await assert.rejects(init("live.wasm"), { code: "unavailable", message: /^the WebAssembly module cannot be loaded from live.wasm: / });
  for (const source of [undefined, null, 7, {}, []]) {
    await assert.rejects(init(source), (error) => error instanceof TokenlineError && /must be|cannot be compiled/.test(error.message), `${source}`);
    assert.throws(() => initSync(source), (error) => error instanceof TokenlineError, `${source}`);
  }
});

test("what a module lacks is said, not missing", async () => {
  const live = initSync(await wasm("live"));
  const calls = initSync(await wasm("calls"));
  const invalid = (message) => ({ code: "invalid_option", message });
  assert.throws(() => live.records("{}", { schema: { type: "object" } }), invalid("a JSON Schema as `schema` needs the entry point `tokenline/schema`"));
  assert.throws(() => calls.toolCalls("{}", { provider: "anthropic" }), invalid("`provider` needs the entry point `tokenline/providers`"));
  assert.throws(() => new calls.ResponseParser("anthropic"), invalid("`provider` needs the entry point `tokenline/providers`"));
  assert.throws(() => live.toolCalls("{}"), invalid("tool calls need the entry point `tokenline`"));
  assert.throws(() => new live.ToolCallParser(), invalid("tool calls need the entry point `tokenline`"));
  assert.throws(() => new live.ToolCallTransform(), invalid("tool calls need the entry point `tokenline`"));
});

test("modules are apart, and errors are one class", async () => {
  const [first, second] = [initSync(await wasm("live")), initSync(await wasm("live"))];
  const [one, two] = [new first.JsonlParser(), new second.JsonlParser()];
  one.push('{"a":');
  two.push('{"b":');
  assert.deepEqual(one.push("1}\n")[0].value, { a: 1 });
  one.free();
  assert.deepEqual(two.push("2}\n")[0].value, { b: 2 });
  assert.equal(complete.TokenlineError, TokenlineError);
  const error = new TokenlineError("code", "message", { status: 5, cause: 7 });
  assert.deepEqual([error.name, error.code, error.message, error.status, error.cause], ["TokenlineError", "code", "message", 5, 7]);
  assert.ok(!("reject" in error) || error.reject === undefined);
  assert.match(String(error), /^TokenlineError: message/);
});
