// Records and calls on the page while the model is still writing.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, download, open, rows, setup, until, waitForEnd, waitForStatus } from "./setup.mjs";

const all = setup();

test("the recorded model needs nothing, and its first record is there within a second", async () => {
  const { page, check } = await open(all);
  // Measured in the page: without the way of a click into the browser.
  const [opened, completed] = await page.evaluate(async () => {
    const start = performance.now();
    const appears = (state) =>
      new Promise((resolve) => {
        const look = () => (document.querySelector(`tr[data-state="${state}"]`) ? resolve(performance.now() - start) : requestAnimationFrame(look));
        look();
      });
    document.querySelector("#extract").click();
    return [await appears("open"), await appears("complete")];
  });
  assert.ok(opened < 500 && completed < 1000, `open after ${opened} ms, complete after ${completed} ms`);
  await waitForStatus(page, "running");
  await waitForStatus(page, "complete", 30_000);
  const table = await rows(page);
  assert.equal(table.length, 8);
  assert.deepEqual(table[1].slice(0, 3), ["complete", "2", "relationship"]);
  assert.ok((await page.textContent("#text-pane .pane")).includes('"entity": "DNA"'));
  assert.equal(await page.locator("#graph svg .node").count(), 7);
  assert.equal(await page.locator("#graph svg line").count(), 4);
  assert.equal(await page.locator("#graph li").count(), 4);
  for (const figure of ["firstToken", "firstRecord", "recordRate", "tokenRate", "held"]) {
    assert.match(await page.textContent(`[data-figure="${figure}"]`), /^\d/, figure);
  }
  const { name, lines } = await download(page);
  assert.equal(name, "tokenline-mixed.jsonl");
  assert.equal(lines.length, 8);
  assert.equal(JSON.parse(lines[0]).entity, "DNA");
  await check();
});

test("a row is visible, grows and locks while the stream is open", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('Here they are:\n{"entity": "D');
  await until(page, () => document.querySelector('tr[data-state="open"] td')?.textContent === "D");
  model.text('NA", "tags": ["a", {"b": ');
  await until(page, () => document.querySelector('tr[data-state="open"]').innerText.includes("DNA"));
  await until(page, () => document.querySelector("td.growing")?.textContent === '["a", {');
  await waitForStatus(page, "running");
  model.text('1.50}]}\n{"entity": "RNA"');
  await page.waitForSelector('tr[data-state="complete"]');
  await page.waitForSelector('tr[data-state="open"]');
  assert.deepEqual(await rows(page), [
    ["complete", "1", "DNA", '["a", {"b": 1.50}]'],
    ["open", "", "RNA", ""],
  ]);
  model.text("}\n");
  model.finish();
  await waitForStatus(page, "complete");
  assert.deepEqual((await rows(page))[1], ["complete", "2", "RNA", ""]);
  await check();
});

test("an open row that turns out to be prose or invalid goes away", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('{"a": "x');
  await page.waitForSelector('tr[data-state="open"]');
  model.text('", oops}\n{"a": 2}\n');
  await page.waitForSelector('tr[data-state="complete"]');
  assert.deepEqual(await rows(page), [["complete", "1", "2"]]);
  const entry = page.locator("#rejected li");
  assert.equal(await entry.locator(".place").textContent(), "1:12");
  assert.equal(await entry.locator(".code").textContent(), "malformed_json");
  assert.notEqual(await entry.locator(".reason").textContent(), "");
  assert.equal(await entry.locator("pre").isVisible(), false);
  await entry.locator("summary").click();
  assert.equal(await entry.locator("pre").textContent(), '{"a": "x", oops}');
  assert.equal(await page.textContent('[data-figure="rejected"]'), "1");
  model.finish();
  await waitForStatus(page, "complete");
  await check();
});

test("a record that breaks the schema is marked while it grows", async () => {
  const { page, check } = await open(all);
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"properties": {"n": {"maximum": 3}}}');
  const model = await ask(all, page);
  model.text('{"n": 7, "note": "more');
  const row = await page.waitForSelector('tr[data-state="invalid"]');
  assert.match(await row.getAttribute("title"), /^.+ \(at \/n\)$/);
  assert.equal(await page.textContent('[data-figure="rejected"]'), "0");
  model.text('"}\n{"n": 1}\n');
  await page.waitForSelector('tr[data-state="complete"]');
  assert.deepEqual(await rows(page), [["complete", "1", "1", ""]]);
  assert.equal(await page.textContent("#rejected .code"), "schema_violation");
  assert.equal(await page.textContent('[data-figure="rejected"]'), "1");
  model.finish();
  await waitForStatus(page, "complete");
  await check();
});

test("a record that breaks the schema shows the rule", async () => {
  const { page, check } = await open(all);
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"properties": {"n": {"maximum": 3}}}');
  const model = await ask(all, page);
  model.text('{"n": 4}\n{"n": 3}\n');
  model.finish();
  await waitForStatus(page, "complete");
  assert.deepEqual(await rows(page), [["complete", "1", "3"]]);
  assert.equal(await page.textContent("#rejected .code"), "schema_violation");
  assert.equal(await page.textContent("#rejected .rules"), "at/nrule/properties/n/maximum");
  await check();
});

test("the arguments of native tool calls grow, one is rejected", async () => {
  const { page, check } = await open(all);
  const tools = '[{"name": "search", "parameters": {"type": "object", "required": ["query"]}}]';
  const model = await ask(all, page, { tools });
  assert.equal(model.request.body.tools.length, 1);
  model.call(0, "search", "");
  await page.waitForSelector('.card[data-state="open"]');
  model.call(0, undefined, '{"query": "ph');
  await until(page, () => document.querySelector(".card pre").textContent.endsWith('"query": "ph'));
  model.call(0, undefined, 'oto", "limit": 1.0}');
  model.call(1, "search", '{"limit": 2}');
  model.finish("tool_calls");
  await waitForStatus(page, "complete");
  const cards = await page.$$eval(".card", (all) => all.map((card) => [card.dataset.state, card.querySelector("h3").textContent]));
  assert.deepEqual(cards, [["complete", "search"], ["rejected", "search"]]);
  assert.equal(await page.textContent(".card pre"), '{\n  "query": "photo",\n  "limit": 1.0\n}');
  assert.equal(await page.locator("#rejected li").count(), 1);
  assert.equal(await page.locator("#records").isVisible(), false);
  const { lines } = await download(page);
  assert.equal(lines.length, 1);
  assert.match(lines[0], /"limit": ?1\.0/);
  await check();
});

test("a call in the text is not read, and the page says how to", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { tools: '[{"name": "search", "parameters": {}}]' });
  model.text('<tool_call>{"name": "search", "arguments": {"query": "photo"}}</tool_call>\n');
  model.finish();
  await waitForStatus(page, "complete");
  assert.equal(await page.locator(".card").count(), 0);
  assert.match(await page.textContent("#message"), /1 call in the text not read: choose "Also in the text" under "Tool calls"/);
  await check();
});

test("the page says what ended a response", async () => {
  const { page, check } = await open(all);
  for (const [reason, status, said] of [
    ["length", "Token limit", "the response reached its token limit"],
    ["content_filter", "Filtered", "a content filter of the provider ended the response"],
    ["tool_calls", "Calls missing", "the response ended to call tools, and has no call"],
    ["stop", "Complete", "finish reason: stop"],
  ]) {
    const model = await ask(all, page);
    model.text('{"a": 1}\n');
    model.finish(reason);
    await waitForEnd(page);
    assert.equal(await page.textContent("#status"), status);
    assert.ok((await page.textContent("#message")).includes(said), await page.textContent("#message"));
  }
  await check();
});

test("a call that is written as text grows in a card", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { tools: '[{"name": "search", "parameters": {}}]', callFormat: "auto" });
  model.text('{"name": "search", "parameters": {"query": "ph');
  await until(page, () => document.querySelector('.card[data-state="open"] pre')?.textContent.endsWith('"ph'));
  model.text('oto"}}\n');
  await page.waitForSelector('.card[data-state="complete"]');
  assert.equal(await page.locator(".card").count(), 1);
  model.finish();
  await waitForStatus(page, "complete");
  await check();
});

test("Stop closes the model's connection within 100 ms", async (t) => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('{"a": 1}\n{"a": "op');
  await page.waitForSelector('tr[data-state="open"]');
  // From before the click is sent to the browser until the model's server sees the end of its connection.
  const start = performance.now();
  await page.evaluate(() => document.querySelector("#stop").click());
  const closed = await model.closed;
  assert.ok(closed - start < 100, `${closed - start} ms`);
  t.diagnostic(`closed after ${(closed - start).toFixed(0)} ms`);
  await waitForStatus(page, "stopped");
  assert.deepEqual(await rows(page), [["complete", "1", "1"]]);
  assert.equal(await page.getAttribute("#stop", "aria-disabled"), "true");
  await check();
});

test("a hidden page, which gets no frames, goes on", async () => {
  const { page, check } = await open(all, {
    init: () => {
      Object.defineProperty(document, "hidden", { get: () => true });
      window.requestAnimationFrame = () => 0;
    },
  });
  const model = await ask(all, page);
  model.text('{"a": 1}\n');
  model.finish();
  await page.waitForSelector('#status[data-status="complete"]');
  assert.deepEqual(await rows(page), [["complete", "1", "1"]]);
  await check();
});

test("an error of the provider is shown", async () => {
  const { page, check } = await open(all, { mayFail: [/status of 4/] });
  all.model.instead = (response) => {
    response.writeHead(400, { "content-type": "application/json" });
    response.end('{"error": {"message": "no such model"}}');
  };
  await page.selectOption("#provider", "openai-chat");
  await page.fill("#model", "test");
  await page.fill("#prompt", "Go.");
  await page.click("#extract");
  await waitForStatus(page, "failed");
  all.model.instead = null;
  assert.match(await page.textContent("#message"), /no such model/);
  await check();
});
