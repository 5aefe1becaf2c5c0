// The hooks, in a browser: rows that appear one by one, renders that do not happen, requests that end.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { build } from "esbuild";
import { chromium } from "playwright-core";
import { createElement } from "react";
import { renderToString } from "react-dom/server";

import { useLive, useRecords } from "../dist/react.js";
import { EventLines } from "../dist/sse.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const hasChromium = existsSync(CHROMIUM);
const skip = !hasChromium && `NOT TESTED: no browser at ${CHROMIUM}; set CHROMIUM`;
if (skip) console.error(`react.test.mjs: ${skip}`);
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const tsc = join(root, "node_modules/typescript/bin/tsc");
const run = promisify(execFile);

/** What a server sends that is `tokenline-axum`'s `RecordsResponse`, from the page of that crate. */
const EVENTS = `id: 0

id: 1
event: record
data: {"name":"Elbe","km":1094}

id: 2
event: rejected
data: {"code":"schema_violation","line":2,"start":30,"end":59,"column":25,"instance_path":"/km","schema_path":"/properties/km/minimum","message":"less than the minimum 0"}

: keep-alive

id: 3
event: record
data: {"name":"Oder","km":840}

id: 4
event: done
data: {"records":2,"rejected":1}

`;

describe("in a browser", { skip, timeout: 120_000 }, () => {
  let server;
  let origin;
  let browser;
  /** Requests that no test has taken, and tests that wait for one. */
  let arrived = [];
  let waiting = [];

  before(async () => {
    const bundle = await build({
      entryPoints: [join(root, "test/pages/react/main.tsx")],
      bundle: true,
      splitting: true,
      format: "esm",
      outdir: "/",
      write: false,
      jsx: "automatic",
      define: { "process.env.NODE_ENV": '"development"' },
      logLevel: "warning",
    });
    const files = new Map(bundle.outputFiles.map((file) => [file.path, file.contents]));
    server = createServer(async (request, response) => {
      const { pathname } = new URL(request.url, "http://localhost");
      if (pathname === "/") {
        return response.setHeader("content-type", "text/html").end('<main></main><script type="module" src="/main.js"></script>');
      }
      if (files.has(pathname)) {
        return response.setHeader("content-type", "text/javascript").end(files.get(pathname));
      }
      if (pathname !== "/records") return response.writeHead(404).end();
      let body = "";
      for await (const chunk of request) body += chunk;
      const closed = new Promise((resolve) => response.on("close", resolve));
      const isJson = request.headers["content-type"] === "application/json";
      const exchange = { request, body: isJson ? JSON.parse(body) : body, response, closed };
      const taker = waiting.shift();
      if (taker) taker(exchange);
      else arrived.push(exchange);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    origin = `http://127.0.0.1:${server.address().port}`;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
  });

  after(async () => {
    await browser?.close();
    server?.closeAllConnections();
    server?.close();
  });

  /** The next request to the server. */
  function request() {
    if (arrived.length > 0) return arrived.shift();
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("no request")), 5000);
      waiting.push((exchange) => {
        clearTimeout(late);
        resolve(exchange);
      });
    });
  }

  /** A page, and what a test does with it. */
  async function open(name, t) {
    const page = await browser.newPage();
    arrived = [];
    waiting = [];
    const problems = [];
    page.on("pageerror", (error) => problems.push(`${error}`));
    // The browser itself tells of HTTP errors and lost connections.
    page.on("console", (message) => {
      if (message.type() === "error" && !/Failed to load resource/.test(message.text())) problems.push(message.text());
    });
    await page.goto(`${origin}/?${name}`);
    await page.waitForSelector("output", { state: "attached" });
    t.after(async () => {
      await page.close();
      assert.deepEqual(problems, []);
    });
    return Object.assign(page, {
      seen: () => page.evaluate(() => JSON.parse(JSON.stringify(window.seen))),
      call: (method, ...given) => page.evaluate(([method, given]) => window.seen.result[method](...given), [method, given]),
      shows: (text, selector = "output") =>
        page.waitForFunction(([selector, text]) => document.querySelector(selector)?.textContent === text, [selector, text], { timeout: 5000 }).catch(async () => {
          assert.equal(await page.evaluate((selector) => document.querySelector(selector)?.textContent, selector), text);
        }),
      rows: () => page.$$eval("li", (rows) => rows.map((row) => row.textContent)),
    });
  }

  function ndjson({ response }) {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    return response;
  }

  test("rows appear one by one, and those that are there are rendered once", async (t) => {
    const page = await open("list", t);
    await page.shows("idle 0 0 -");
    await page.call("submit", { continent: "Europe" });
    const exchange = await request();
    assert.equal(exchange.request.method, "POST");
    assert.deepEqual(exchange.body, { continent: "Europe" });
    assert.equal(exchange.request.headers["content-type"], "application/json");
    assert.match(exchange.request.headers.accept, /^text\/event-stream, application\/x-ndjson;q=0.9/);
    assert.equal(exchange.request.headers["x-page"], "list");
    await page.shows("loading 0 0 -");
    const response = ndjson(exchange);
    const rivers = ["Volga", "Danube", "Dnieper", "Don", "Pechora"];
    for (const [at, name] of rivers.entries()) {
      response.write(`{"name":"${name}","k`);
      await page.waitForFunction((name) => [...document.querySelectorAll("li")].at(-1)?.textContent === name, name);
      assert.equal((await page.rows()).length, at + 1);
      response.write(`m":${1000 + at}}\n`);
      await page.shows(`loading ${at + 1} 0 -`);
    }
    response.end();
    await page.shows("idle 5 0 -");
    assert.deepEqual(await page.rows(), rivers.map((name, at) => `${name} ${1000 + at}`));
    const { rows, lists, finished, result } = await page.seen();
    // The list is another one only when it has another record.
    assert.equal(lists, 1 + 5);
    // Once while it was open, and once when it was complete.
    assert.deepEqual(rows, Object.fromEntries(rivers.map((name) => [name, 2])));
    assert.equal(finished, 5);
    assert.equal(result.report.complete, true);
  });

  test("a chunk of many records is one update", async (t) => {
    const page = await open("list", t);
    await page.call("submit");
    const response = ndjson(await request());
    await page.shows("loading 0 0 -");
    response.flushHeaders();
    await wait(50);
    const { commits } = await page.seen();
    response.write(Array.from({ length: 200 }, (_, at) => `{"name":"r${at}","km":1}\n`).join(""));
    await page.shows("loading 200 0 -");
    const seen = await page.seen();
    assert.equal(seen.commits, commits + 1);
    assert.deepEqual(new Set(Object.values(seen.rows)), new Set([1]));
    response.write(" ");
    await wait(100);
    assert.equal((await page.seen()).commits, seen.commits);
    response.end();
    await page.shows("idle 200 0 -");
    // Nothing but the state has changed.
    assert.deepEqual((await page.seen()).rows, seen.rows);
  });

  test("many chunks are at most one update a frame", async (t) => {
    const page = await open("many", t);
    const { commits: before } = await page.seen();
    await page.evaluate(() => {
      window.frames_ = 0;
      const count = () => {
        window.frames_++;
        requestAnimationFrame(count);
      };
      requestAnimationFrame(count);
    });
    await page.call("submit", 5000);
    await page.shows("false 5000");
    const frames = await page.evaluate(() => window.frames_);
    const { commits } = await page.seen();
    t.diagnostic(`5000 chunks: ${commits - before} updates in ${frames} frames`);
    // Submitting and the end are shown at once.
    assert.ok(commits - before <= frames + 2, `${commits - before} updates in ${frames} frames`);
    assert.ok(commits - before >= 3);
  });

  test("`throttle` is the time between two updates", async (t) => {
    const page = await open("throttled", t);
    await page.call("submit");
    const response = ndjson(await request());
    const { commits } = await page.seen();
    const started = performance.now();
    for (let at = 0; at < 40; at++) {
      response.write(`{"name":"r${at}","km":1}\n`);
      await wait(20);
    }
    const most = Math.ceil((performance.now() - started) / 300) + 1;
    const seen = await page.seen();
    assert.ok(seen.commits - commits <= most, `${seen.commits - commits} updates, not ${most}`);
    assert.ok(seen.commits - commits >= 2);
    response.end();
    await page.shows("idle 40 0 -");
  });

  test("`stop` ends the request, and what has come stays", async (t) => {
    const page = await open("list", t);
    await page.call("submit");
    const exchange = await request();
    const response = ndjson(exchange);
    response.write('{"name":"Rhine","km":1233}\n{"name":"Mos');
    await page.shows("Mos", "li:last-child");
    await page.call("stop");
    await page.shows("idle 1 0 -");
    await exchange.closed;
    assert.deepEqual(await page.rows(), ["Rhine 1233", "Mos"]);
    const { finished, errors } = await page.seen();
    assert.deepEqual([finished, errors], [0, []]);
    await page.call("clear");
    await page.shows("idle 0 0 -");
    assert.deepEqual(await page.rows(), []);
  });

  test("a new request ends the one before", async (t) => {
    const page = await open("list", t);
    await page.call("submit", { n: 1 });
    const first = await request();
    ndjson(first).write('{"name":"Old","km":1}\n');
    await page.shows("loading 1 0 -");
    await page.call("submit", { n: 2 });
    await page.shows("loading 0 0 -");
    await first.closed;
    const second = await request();
    assert.deepEqual(second.body, { n: 2 });
    ndjson(second).end('{"name":"New","km":2}\n');
    await page.shows("idle 1 0 -");
    assert.deepEqual(await page.rows(), ["New 2"]);
  });

  test("leaving ends the request, before and after the response has begun", async (t) => {
    const page = await open("leaving&strict", t);
    await page.call("submit");
    const silent = await request();
    await page.click("button");
    await silent.closed;
    await page.click("button");
    await page.shows("idle 0 0 -");
    await page.call("submit");
    const exchange = await request();
    ndjson(exchange).write('{"name":"Rhine","km":1233}\n');
    await page.shows("loading 1 0 -");
    await page.click("button");
    await exchange.closed;
    // One that is submitted afterwards is not sent.
    await page.call("submit");
    await wait(100);
    assert.equal(arrived.length, 0);
  });

  for (const mode of ["", "&strict"]) {
    for (const name of ["auto", "once"]) {
      test(`an effect that submits sends one request (${name}${mode})`, async (t) => {
        const page = await open(`${name}${mode}`, t);
        const exchange = await request();
        const response = ndjson(exchange);
        response.write('{"name":"Rhine","km":1233}\n');
        await page.shows("Rhine");
        await wait(50);
        assert.equal(arrived.length, 0);
        assert.equal(response.closed, false);
        response.end();
      });
    }
  }

  test("what is wrong is told: a status, a page, a lost connection", async (t) => {
    const page = await open("list", t);
    await page.call("submit");
    (await request()).response.writeHead(429).end("slow down");
    await page.shows("idle 0 0 HTTP 429 Too Many Requests: slow down");

    await page.call("submit");
    (await request()).response.writeHead(200, { "content-type": "text/html" }).end("<p>Sign in</p>");
    await page.shows(`idle 0 0 the response is a page in HTML: is ${origin}/records the right URL?`);

    await page.call("submit");
    const { response } = await request();
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.write('{"name":"Rhine","km":1233}\n{"name":"Mos');
    await page.shows("Mos", "li:last-child");
    response.destroy();
    // The record that was cut off is counted, and shown.
    await page.shows("idle 1 1 network error");
    assert.deepEqual(await page.rows(), ["Rhine 1233", "Mos"]);
    const { errors, rejects, finished, result } = await page.seen();
    assert.deepEqual([errors.length, rejects, finished], [3, ["truncated"], 0]);
    assert.equal(result.report.complete, false);

    await page.call("submit");
    await page.shows("loading 0 0 -");
    ndjson(await request()).end();
    await page.shows("idle 0 0 -");
  });

  test("what breaks the schema is a reject, and no row", async (t) => {
    const page = await open("list", t);
    await page.call("submit");
    const response = ndjson(await request());
    response.write('{"name":"Elbe","km":1094}\n{"name":"Styx","km":-1}\nnot data\n{"name":"Oder","km":840}\n');
    response.end();
    await page.shows("idle 2 1 -");
    assert.deepEqual(await page.rows(), ["Elbe 1094", "Oder 840"]);
    const { rejects, result } = await page.seen();
    assert.deepEqual(rejects, ["schema_violation"]);
    assert.deepEqual(result.report.codes, { schema_violation: 1, prose: 1 });
  });

  test("a schema may take its time: the record stays open meanwhile", async (t) => {
    const page = await open("judged", t);
    await page.call("submit");
    const response = ndjson(await request());
    response.write('{"name":"Lethe"');
    await page.shows("Lethe", "li:last-child");
    response.write(',"km":1}\n{"name":"Acheron","k');
    await page.waitForFunction(() => window.verdicts.length > 0);
    await page.shows("loading 0 0 -");
    assert.deepEqual(await page.rows(), ["Lethe"]);
    await page.evaluate(() => setInterval(() => window.verdicts.splice(0).forEach((verdict) => verdict()), 10));
    await page.shows("Acheron", "li:last-child");
    await page.shows("loading 1 0 -");
    response.end('m":1}\n{"name":"Styx","km":1}\n');
    await page.shows("idle 2 1 -");
    assert.deepEqual(await page.rows(), ["Lethe 1", "Acheron 1"]);
  });

  test("a form asks, and a provider's response has records in its text", async (t) => {
    const page = await open("provided", t);
    await page.click("button");
    const { request: its, body, response } = await request();
    assert.match(its.headers["content-type"], /^multipart\/form-data/);
    assert.match(body, /name="continent"\r\n\r\nAsia/);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const content of ['{"name":"Ob","km"', ':3650}\n{"name":"Amur","km":2824}\n']) {
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
    }
    await page.shows("Ob,Amur");
    response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`);
  });

  test("server-sent events of tokenline-axum: records, rejects, and the end", async (t) => {
    const page = await open("list", t);
    const sse = { "content-type": "text/event-stream" };
    await page.call("submit");
    (await request()).response.writeHead(200, sse).end(EVENTS);
    await page.shows("idle 2 1 -");
    const { rejects, result } = await page.seen();
    assert.deepEqual(rejects, ["schema_violation"]);
    assert.equal(result.report.diagnostics[0].instancePath, "/km");
    assert.equal(result.report.complete, true);

    const record = 'event: record\ndata: {"name":"Elbe","km":1094}\n\n';
    for (const [end, message] of [
      ['event: error\ndata: {"message":"the model is overloaded"}\n\n', "the model is overloaded"],
      ['event: done\ndata: {"records":1,"truncated":true}\n\n', "the response was cut off"],
      ["", "the response ended without `done`"],
    ]) {
      await page.call("submit");
      (await request()).response.writeHead(200, sse).end(record + end);
      await page.shows(`idle 1 0 ${message}`);
    }
  });

  test("a value grows, and tells what of it is complete", async (t) => {
    const page = await open("live", t);
    await page.shows("…", "h1");
    await page.call("submit");
    const response = ndjson(await request());
    response.write('{"title":"Sou');
    await page.shows("Sou…", "h1");
    response.write("p");
    await page.shows("Soup…", "h1");
    response.write('"');
    await page.shows("Soup", "h1");
    response.write(',"steps":[{"text":"Boil."},{"text":"Ser');
    await page.shows("growing 2");
    const first = await page.evaluateHandle(() => window.seen.result.value.steps[0]);
    response.write('ve."}]}\n');
    await page.shows("complete 2");
    response.end();
    await page.waitForFunction(() => !window.seen.result.isLoading);
    // The schema is zod's, which makes a copy of a complete value.
    assert.equal(await first.evaluate((first) => first.text), "Boil.");
    // A value of the wrong shape.
    await page.call("submit");
    await page.shows("waiting 0");
    ndjson(await request()).end('{"title":1}\n');
    await page.shows("rejected 0");
    assert.equal((await page.seen()).result.reject.code, "schema_violation");
  });
});

test("on a server, the first state is rendered, and nothing is asked", async () => {
  const sent = globalThis.fetch;
  globalThis.fetch = () => assert.fail("a request");
  try {
    const Page = () => {
      const { records, isLoading, report } = useRecords("/records");
      const { value, state } = useLive(() => assert.fail("a request"));
      return createElement("p", null, `${records.length} ${isLoading} ${report.records} ${value} ${state}`);
    };
    assert.equal(renderToString(createElement(Page)), "<p>0 false 0 undefined waiting</p>");
  } finally {
    globalThis.fetch = sent;
  }
});

test("server-sent events are read however they are cut, and whatever ends their lines", async () => {
  const encoder = new TextEncoder();
  async function read(chunks) {
    let isCancelled = false;
    const body = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
      cancel: () => (isCancelled = true),
    });
    const rejects = [];
    let text = "";
    for await (const lines of new EventLines(body, (reject) => rejects.push(reject))) text += lines;
    return { text, rejects, isCancelled };
  }
  const reject = {
    type: "reject",
    code: "schema_violation",
    line: 2,
    start: 30,
    end: 59,
    column: 25,
    instancePath: "/km",
    schemaPath: "/properties/km/minimum",
    message: "less than the minimum 0",
  };
  for (const newline of ["\n", "\r\n", "\r"]) {
    const bytes = encoder.encode(EVENTS.replace("Elbe", "Łaba").replaceAll("\n", newline));
    const all = { text: '{"name":"Łaba","km":1094}\n{"name":"Oder","km":840}\n', rejects: [reject] };
    const { isCancelled: _, ...whole } = await read([bytes]);
    assert.deepEqual(whole, all);
    for (let cut = 1; cut < bytes.length; cut++) {
      const { text, rejects } = await read([bytes.subarray(0, cut), bytes.subarray(cut)]);
      assert.deepEqual({ text, rejects }, all, `cut at ${cut}`);
    }
    const { text } = await read(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
    assert.equal(text, all.text);
  }
  // Events without names, data on several lines, and OpenAI's end.
  const { text } = await read([encoder.encode('data: {"a":\ndata: 1}\n\nevent: other\ndata: x\n\ndata:{"a":2}\n\ndata: [DONE]\n\ndata: {"a":3}\n\n')]);
  assert.equal(text, '{"a": 1}\n{"a":2}\n');
  await assert.rejects(read([encoder.encode("event: error\ndata: no luck\n\n")]), { code: "response_failed", message: "no luck" });
});

test("the types say what they should, and the example is right", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "tokenline-react-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  // As if it were installed.
  await cp(join(root, "examples/react-list"), folder, { recursive: true });
  await mkdir(join(folder, "node_modules/@types"), { recursive: true });
  for (const name of ["react", "react-dom", "zod", "vite", "@types/react", "@types/react-dom"]) {
    await symlink(join(root, "node_modules", name), join(folder, "node_modules", name));
  }
  await symlink(root, join(folder, "node_modules/tokenline"));
  await Promise.all([
    run("node", [tsc, "-p", join(root, "test/pages/react")]),
    run("node", [tsc, "-p", folder]),
  ]);
  await run("node", [join(root, "node_modules/vite/bin/vite.js"), "build", "--logLevel", "warn"], { cwd: folder });
  const page = await readFile(join(folder, "dist/index.html"), "utf8");
  assert.match(page, /<script type="module"/);
});
