// The storage of the history: other tabs, limits, browsers that store nothing. Keys are never in it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { KEY, ask, open, ready, rows, setup, startProgram, until, waitForEnd, waitForStatus } from "./setup.mjs";
import { dump, entries, kept, openHistory, run, titles, waitForEntries } from "./runs.mjs";

const all = setup();

test("two tabs keep each other's runs, and see what the other does", async () => {
  const { page, context, check } = await open(all);
  const other = await context.newPage();
  await other.goto(all.url);
  await ready(other);
  await Promise.all([page, other].map((tab) => tab.selectOption("#provider", "recorded")));
  await Promise.all([page, other].map((tab) => tab.fill("#delay", "0")));
  await openHistory(page);
  for (let round = 1; round <= 5; round += 1) {
    // One from a closed dialog, one behind it: at the same time.
    await Promise.all([page, other].map((tab) => tab.evaluate(() => document.querySelector("#extract").click())));
    await waitForEntries(page, 2 * round);
    await Promise.all([page, other].map((tab) => waitForEnd(tab)));
  }
  await openHistory(other);
  await waitForEntries(other, 10);
  await other.click("#history .entries button:has-text('Delete')");
  await waitForEntries(page, 9);
  await page.uncheck("#keep-history");
  await until(other, () => !document.querySelector("#keep-history").checked);
  await check();
});

test("at most 50 runs and 50 MB are kept, the oldest go first", async () => {
  const { page, check } = await open(all);
  const state = await page.evaluate(async () => {
    const { History, entryOf } = await import("/assets/history.js");
    const { State } = await import("/assets/state.js");
    const history = new History(() => {});
    const add = async (id, time, raw) => {
      const state = Object.assign(new State(), { run: id, status: "complete" });
      state.apply({ id: 1, event: "record", data: `{"index":0,"start":0,"value":${raw}}` });
      await history.add(entryOf(state.save(state.log.entries), { time, values: { prompt: id }, title: id, shortfall: "" }));
    };
    for (let n = 1; n <= 53; n += 1) await add(`small ${n}`, n, "{}");
    const small = (await history.list()).map(({ id }) => id);
    const long = `{"t": "${"x".repeat(9_000_000)}"}`;
    for (let n = 1; n <= 6; n += 1) await add(`long ${n}`, 100 + n, long);
    const rest = await history.list();
    const bodies = await Promise.all([...small, ...rest.map(({ id }) => id)].map((id) => history.get(id)));
    return { small, rest: rest.map(({ id, size }) => [id, size]), bodies: bodies.filter(Boolean).map(({ id }) => id), problem: history.problem };
  });
  assert.equal(state.problem, "");
  assert.equal(state.small.length, 50);
  assert.deepEqual([state.small[0], state.small.at(-1)], ["small 53", "small 4"]);
  assert.deepEqual(state.rest.slice(0, 5).map(([id]) => id), ["long 6", "long 5", "long 4", "long 3", "long 2"]);
  assert.ok(state.rest.reduce((sum, [, size]) => sum + size, 0) <= 50_000_000);
  assert.ok(!state.rest.some(([id]) => id === "long 1"));
  // Records go with their run.
  assert.deepEqual(new Set(state.bodies), new Set(state.rest.map(([id]) => id)));
  await openHistory(page);
  assert.ok((await titles(page)).length <= 50);
  await check();
});

test("a run over 10 MB is kept without its records, and says so", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { prompt: "Long." });
  await model.stream(Array.from({ length: 550 }, (_, n) => `{"n": ${n}, "f": "${"x".repeat(20_000)}"}\n`));
  model.finish();
  await waitForStatus(page, "complete", 30_000);
  await kept(page, 1);
  await openHistory(page);
  assert.match((await entries(page))[0][1], /550 records \u00b7 Complete \u00b7 too long: kept without its records$/);
  await page.click("#history .entries button:has-text('Open')");
  await until(page, () => /The records were too long for the history/.test(document.querySelector("#message").textContent));
  assert.equal(await page.textContent('[data-figure="records"]'), "550");
  assert.deepEqual(await rows(page), []);
  await check();
});

test("where the browser stores nothing, the page goes on and says so", async () => {
  const init = () => {
    const refuse = () => {
      throw new DOMException("The operation is insecure.", "SecurityError");
    };
    for (const name of ["localStorage", "sessionStorage", "indexedDB"]) Object.defineProperty(window, name, { get: refuse });
  };
  const { page, check } = await open(all, { init });
  await run(all, page);
  await waitForStatus(page, "complete");
  await openHistory(page);
  await page.waitForSelector("#history .problem:not([hidden])");
  assert.match(await page.textContent("#history .problem"), /^This browser does not let the page store anything\./);
  await page.uncheck("#keep-history");
  await page.keyboard.press("Escape");
  await page.click('[data-opens="prompts"]');
  assert.match(await page.textContent("#prompts .dialog-foot .hint"), /does not let the page store anything/);
  await page.keyboard.press("Escape");
  await run(all, page, { prompt: "Again." });
  await waitForStatus(page, "complete");
  await check();
});

test("a run that the storage has no room for is not kept, and the page says so", async () => {
  const { page, context, check } = await open(all);
  const client = await context.newCDPSession(page);
  const text = (name, size) => `{"name": "${name}", "f": "${name.repeat(size)}"}\n`;
  await client.send("Storage.overrideQuotaForOrigin", { origin: all.url, quotaSize: 1_500_000 });
  await run(all, page, { prompt: "First.", text: text("first", 10_000) });
  await kept(page, 1);
  await run(all, page, { prompt: "Second.", text: text("second", 500_000) });
  await waitForStatus(page, "complete");
  await openHistory(page);
  await page.waitForSelector("#history .problem:not([hidden])");
  assert.equal(await page.textContent("#history .problem"), "The storage of this browser is full. This run is not kept.");
  assert.deepEqual(await titles(page), ["First."]);
  await page.keyboard.press("Escape");
  await run(all, page, { prompt: "Third.", text: text("third", 10_000) });
  await openHistory(page);
  await waitForEntries(page, 2);
  assert.equal(await page.isVisible("#history .problem"), false);
  await check();
});

test("in a full storage, the oldest runs give way", async () => {
  // What a browser frees, and when, is its own affair: this one has room for two.
  const init = () => {
    let count = 0;
    const { put, delete: remove } = IDBObjectStore.prototype;
    IDBObjectStore.prototype.put = function (value) {
      if (this.name === "bodies" && (count += 1) > 2) throw new DOMException("Full.", "QuotaExceededError");
      return put.call(this, value);
    };
    IDBObjectStore.prototype.delete = function (key) {
      if (this.name === "bodies") count -= 2; // it, and the attempt that failed
      return remove.call(this, key);
    };
  };
  const { page, check } = await open(all, { init });
  for (const [at, prompt] of ["First.", "Second.", "Third."].entries()) {
    await run(all, page, { prompt });
    await kept(page, Math.min(at + 1, 2));
  }
  await openHistory(page);
  await until(page, () => document.querySelector("#history .entry-title")?.textContent === "Third.");
  assert.deepEqual(await titles(page), ["Third.", "Second."]);
  assert.equal(await page.isVisible("#history .problem"), false);
  await check();
});

test("API keys and passwords are in no storage", async (t) => {
  const { program, url } = await startProgram(all.model, ["--allow-base-url"]);
  t.after(() => program.kill());
  const { page, check } = await open({ ...all, url });
  const [secret, password] = ["sk-typed-into-the-page", "a-password-in-a-url"];
  await page.selectOption("#provider", "openai-chat");
  await page.$eval("#base-url", (field) => field.closest("details")?.setAttribute("open", ""));
  await page.fill("#base-url", all.model.url.replace("http://", `http://me:${password}@`));
  await page.fill("#api-key", secret);
  const model = await ask(all, page, { prompt: "With a key." });
  assert.equal(model.request.headers.authorization, `Bearer ${secret}`);
  const assertNoKey = async (when) => {
    const stored = await dump(page);
    assert.ok(stored.includes("With a key."), when);
    for (const its of [secret, KEY]) assert.ok(!stored.includes(its), `${when}: ${its}`);
    return stored;
  };
  await assertNoKey("while it runs");
  model.text('{"n": 1}\n');
  model.finish();
  await waitForStatus(page, "complete");
  await kept(page, 1);
  await assertNoKey("after it");
  await page.click('[data-opens="prompts"]');
  await page.fill("#prompt-name", "Kept");
  await page.click("#prompts button:has-text('Save')");
  await page.waitForSelector("#prompts .entries > li");
  await page.keyboard.press("Escape");
  await page.click('[data-opens="code"]');
  await page.waitForSelector("#code-panel:not([hidden])");
  assert.ok((await page.textContent("#code pre")).includes("Bearer $OPENAI_API_KEY"));
  for (const tab of ["curl", "extract", "python", "rust"]) {
    await page.click(`#code-tab-${tab}`);
    const text = await page.textContent("#code pre");
    assert.ok(text.includes(new URL(all.model.url).host), tab);
    assert.ok(!text.includes(secret) && !text.includes(password), tab);
  }
  await page.keyboard.press("Escape");
  // What the tab keeps over a reload.
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  await assertNoKey("when the page is left");
  // The database outlives the tab.
  const database = await page.evaluate(async () => {
    const { History } = await import("/assets/history.js");
    const history = new History(() => {});
    return JSON.stringify(await history.get((await history.list())[0].id));
  });
  assert.ok(database.includes(`"base-url":"${all.model.url}`), database);
  assert.ok(!database.includes(password));
  await check();
});

