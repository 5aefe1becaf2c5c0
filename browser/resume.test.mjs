// Reloads and broken connections: a run goes on, nothing is lost, nothing comes twice.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, cuttable, download, open, ready, rows, setup, until, waitForStatus } from "./setup.mjs";

const all = setup();
const complete = (page, count) =>
  until(page, (count) => document.querySelectorAll('tr[data-state="complete"]').length === count, count);

test("a reload goes on in the middle of a record, without doubles", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('Text.\n{"n": 0}\n{"broken": }\n{"n": 1, "text": "on');
  await until(page, () => document.querySelector('tr[data-state="open"]')?.innerText.includes("on"));
  await page.reload();
  await ready(page);
  await waitForStatus(page, "running");
  assert.deepEqual(await rows(page), [["complete", "1", "0", ""], ["open", "", "1", "on"]]);
  model.text('e", "more": 2}\n{"n": 2');
  await complete(page, 2);
  await page.reload();
  // Written while no page is there.
  model.text('}\n{"n": 3}\n');
  await ready(page);
  await complete(page, 4);
  model.finish();
  await waitForStatus(page, "complete");
  assert.deepEqual(await rows(page), [
    ["complete", "1", "0", "", ""],
    ["complete", "2", "1", "one", "2"],
    ["complete", "3", "2", "", ""],
    ["complete", "4", "3", "", ""],
  ]);
  const text = await page.$$eval("#text-pane .pane > div", (all) => all.map((line) => line.textContent).join("\n"));
  assert.equal(text.trimEnd(), 'Text.\n{"n": 0}\n{"broken": }\n{"n": 1, "text": "one", "more": 2}\n{"n": 2}\n{"n": 3}');
  assert.deepEqual((await download(page)).lines, ['{"n": 0}', '{"n": 1, "text": "one", "more": 2}', '{"n": 2}', '{"n": 3}']);
  await check();
});

test("calls and the form outlive a reload, and so does the end of a run", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { tools: '[{"name": "search", "parameters": {}}]' });
  model.call(0, "search", '{"query": "a"}');
  model.call(1, "search", '{"query": "b');
  await until(page, () => document.querySelector('.card[data-state="open"] pre')?.textContent.endsWith("b"));
  await page.reload();
  await ready(page);
  assert.equal(await page.inputValue("#model"), "test");
  assert.equal(await page.isChecked('input[value="tools"]'), true);
  model.call(1, undefined, 'c"}');
  model.finish("tool_calls");
  await waitForStatus(page, "complete");
  const calls = () => page.$$eval(".card pre", (all) => all.map((pre) => pre.textContent.replace(/\s+/g, "")));
  assert.deepEqual(await calls(), ['{"query":"a"}', '{"query":"bc"}']);
  await page.reload();
  await ready(page);
  await waitForStatus(page, "complete");
  assert.deepEqual(await calls(), ['{"query":"a"}', '{"query":"bc"}']);
  assert.equal(await page.getAttribute("#extract", "aria-disabled"), "false");
  await check();
});

test("a broken connection is resumed, also with a reload in between", async () => {
  const way = await cuttable(all);
  const mayFail = [/ERR_(INCOMPLETE_CHUNKED_ENCODING|EMPTY_RESPONSE|CONNECTION_RESET)/];
  const { page, check } = await open(all, { origin: way.origin, mayFail });
  const model = await ask(all, page);
  for (let at = 0; at < 12; at += 1) {
    model.text(`{"n": ${at}}\n{"n": `);
    await complete(page, 2 * at + 1);
    if (at % 3 === 1) way.cut();
    model.text(`"x${at}"}\n`);
    await complete(page, 2 * at + 2);
    if (at === 7) {
      way.cut();
      await page.reload();
      await ready(page);
    }
  }
  model.finish();
  await waitForStatus(page, "complete");
  const expected = Array.from({ length: 12 }, (_, at) => [`{"n": ${at}}`, `{"n": "x${at}"}`]).flat();
  assert.deepEqual((await download(page)).lines, expected);
  assert.deepEqual((await rows(page)).map(([, number]) => Number(number)), expected.map((_, at) => at + 1));
  await check();
  way.stop();
});

test("a run that the server no longer has is said to be lost, and what arrived is kept", async () => {
  const way = await cuttable(all);
  const { page, context } = await open(all, { origin: way.origin, mayFail: [/./] });
  const model = await ask(all, page);
  model.text('{"n": 0}\n{"n": 1');
  await complete(page, 1);
  const run = await page.evaluate(async () => {
    dispatchEvent(new Event("pagehide"));
    return JSON.parse(sessionStorage.getItem("tokenline-run")).saved.run;
  });
  assert.match(run, /^[0-9a-f]{32}$/);
  // The server is gone for good.
  way.stop();
  await waitForStatus(page, "resuming");
  await waitForStatus(page, "lost", 10_000);
  assert.deepEqual((await rows(page)).map(([state]) => state), ["complete"]);
  assert.match(await page.textContent("#message"), /could not be resumed/);
  await context.close();
});

test("what is too long to be kept over a reload is said to be missing", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const filler = "x".repeat(20_000);
  await model.stream(Array.from({ length: 300 }, (_, n) => `{"n": ${n}, "f": "${filler}"}\n`));
  await until(page, () => document.querySelector('[data-figure="records"]').textContent === "300");
  await page.reload();
  await ready(page);
  model.text('{"n": 300}\n');
  model.finish();
  await waitForStatus(page, "complete");
  assert.match(await page.textContent("#message"), /could not be replayed/);
  const numbers = (await download(page)).lines.map((line) => JSON.parse(line).n);
  assert.equal(numbers.at(-1), 300);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  assert.equal(await page.textContent('[data-figure="records"]'), "301");
  await check();
});
