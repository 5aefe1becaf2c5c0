// What a model writes is text on the page, whatever it looks like.

import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY, ask, download, open, rows, setup, until, waitForStatus } from "./setup.mjs";

const all = setup();

test("markup in records, calls, rejects and text is shown, not rendered", async () => {
  const { page, check } = await open(all);
  const markup = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>bold</b>';
  const model = await ask(all, page);
  model.text(`${markup}\n`);
  model.text(`${JSON.stringify({ entity: markup, [markup]: "key", nested: { [markup]: [markup] } })}\n`);
  model.text(`${JSON.stringify({ subject: markup, predicate: markup, object: "x", "object-entity": true })}\n`);
  model.text(`{"broken": ${markup}}\n`);
  model.finish();
  await waitForStatus(page, "complete");
  const table = await rows(page);
  assert.equal(table[0][2], markup);
  assert.ok(table[0][4].includes("<img src=x"));
  assert.ok((await page.$$eval("thead th", (all) => all.map((th) => th.textContent)))[2].startsWith("<img src=x"));
  assert.ok((await page.textContent("#text-pane .pane")).includes(markup));
  assert.ok((await page.textContent("#rejected li")).includes(markup));
  assert.ok((await page.textContent("#graph svg")).includes("<img src=x"));
  assert.equal(await page.locator("#results :is(img, script, b, iframe, style, a, foreignObject)").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await check();
});

test("markup in a tool call is shown, not rendered", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { tools: '[{"name": "<b>x</b>", "parameters": {}}]' });
  model.call(0, "<b>x</b>", '{"__proto__": {"a": 1}, "html": "<script>window.hacked=1</script>"}');
  model.finish("tool_calls");
  await waitForStatus(page, "complete");
  assert.equal(await page.textContent(".card h3"), "<b>x</b>");
  assert.ok((await page.textContent(".card pre")).includes('"__proto__": {'));
  assert.equal(await page.locator("#results :is(b, script)").count(), 0);
  await check();
});

test("keys of prototypes are names like any other", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('{"__proto__": {"polluted": 1}, "constructor": 2, "toString": "t", "": "empty", "hasOwnProperty": null}\n');
  model.finish();
  await waitForStatus(page, "complete");
  assert.deepEqual(await rows(page), [["complete", "1", '{"polluted": 1}', "2", "t", "empty", "null"]]);
  assert.equal(await page.evaluate(() => ({}).polluted), undefined);
  await check();
});

test("controls and long texts cannot hide or displace what is beside them", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const long = "x".repeat(300_000);
  model.text(`{"a": "evil\u202egnp.exe", "b": "\u05d0\u05d1", "c": "${long}", "d": "\\u0007"}\n`);
  model.text(`{"a": "after"}\n${"[".repeat(90)}${"]".repeat(90)}\n`);
  model.finish();
  await waitForStatus(page, "complete");
  const [first, second] = await rows(page);
  assert.equal(first[2], "evil\u27e8U+202E\u27e9gnp.exe");
  assert.equal(first[3], "\u05d0\u05d1");
  assert.ok(first[4].endsWith("x\u2026 (300,000 characters)") && first[4].length < 400);
  assert.equal(first[5], "\u27e8U+0007\u27e9");
  assert.equal(second[2], "after");
  assert.ok((await page.textContent("#text-pane .pane")).length <= 70_000);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 1280, `${width} px wide`);
  const { lines } = await download(page);
  assert.equal(JSON.parse(lines[0]).c, long);
  await check();
});

test("numbers stay as the model wrote them, on the page and in the download", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const line = '{"n": 12345678901234567890, "e": 1.50E+400, "z": -0.0, "deep": [1.0]}';
  model.text(`${line}\n`);
  model.finish();
  await waitForStatus(page, "complete");
  assert.deepEqual(await rows(page), [["complete", "1", "12345678901234567890", "1.50E+400", "-0.0", "[1.0]"]]);
  assert.deepEqual((await download(page)).lines, [line]);
  await check();
});

test("many members and many rows are bounded, and the download has all", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`member${at}`, at]));
  model.text(`${JSON.stringify(wide)}\n`);
  const count = 3000;
  await model.stream(Array.from({ length: count }, (_, at) => `{"n": ${at}}\n`));
  model.text('{"broken\n'.repeat(500));
  model.finish();
  await waitForStatus(page, "complete");
  assert.ok((await page.locator("#records thead th").count()) <= 14);
  assert.ok((await page.locator("#records tbody tr").count()) <= 250);
  assert.ok((await page.locator("#rejected li").count()) <= 200);
  assert.equal(await page.textContent("#records .note"), "2,751 earlier records are not shown. The download has all of them.");
  assert.equal((await rows(page)).at(-1)[1], "3,001");
  assert.equal((await download(page)).lines.length, count + 1);

  // The next run begins with an empty page.
  const next = await ask(all, page);
  await next.stream(Array.from({ length: 600 }, (_, at) => `{"other": ${at}}\n`));
  next.finish();
  await until(page, () => document.querySelector('[data-figure="records"]').textContent === "600");
  await waitForStatus(page, "complete");
  assert.equal(await page.locator("#records thead th").count(), 2);
  assert.equal(await page.locator("#records tbody tr").count(), 250);
  assert.equal(await page.locator("#rejected").isVisible(), false);
  assert.equal((await download(page)).lines.length, 600);
  await check();
});

test("no response has the key in it", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  assert.equal(model.request.headers.authorization, `Bearer ${KEY}`);
  model.finish();
  await check();
  all.model.instead = (response) => {
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${KEY}` } }));
  };
  const said = [];
  const get = async (path, options) => {
    const response = await fetch(all.url + path, options);
    said.push(JSON.stringify([...response.headers]), await response.text());
  };
  await get("/");
  await get("/api/options");
  await get("/api/extract", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ provider: "openai-chat", model: "test", prompt: "Go." }),
  });
  all.model.instead = null;
  await get("/api/runs/0/events");
  assert.equal(said.length, 8);
  assert.match(said[5], /done|error/);
  for (const text of said) assert.ok(!text.includes(KEY), text);
});

test("the page's policy allows nothing from elsewhere, and no page of another origin reads it", async () => {
  const response = await fetch(all.url);
  const policy = response.headers.get("content-security-policy");
  for (const directive of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"]) {
    assert.ok(policy.includes(directive), directive);
  }
  const { page } = await open(all);
  // Markup that got into the page in spite of all would do nothing.
  const refused = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<img src=x onerror=alert(1)>";
      return false;
    } catch (error) {
      return error instanceof TypeError;
    }
  });
  assert.equal(refused, true);
  const foreign = await fetch(`${all.url}/api/options`, { headers: { origin: "http://evil.example" } });
  assert.equal(foreign.status, 403);
});
