// The page for everyone: keyboard, screen reader, both themes, small screens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, open, ready, rows, setup, until, waitForEnd, waitForStatus } from "./setup.mjs";
import { findings, still } from "./accessible.mjs";

const all = setup();

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing serious, ${colorScheme}`, async () => {
    // axe-core would need an exception from the page's policy.
    const { page, check } = await open(all, { colorScheme, bypassCSP: true });
    assert.deepEqual(await findings(page), [], "at rest");
    const model = await ask(all, page);
    model.text('{"entity": "a", "n": 1}\n{"subject": "a", "predicate": "b", "object": "c", "object-entity": false}\n');
    model.text('{"broken": }\n{"entity": "open');
    await page.waitForSelector('tr[data-state="open"]');
    await page.click("#rejected summary");
    await page.click("#graph summary");
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "while records arrive");
    model.finish();
    await waitForEnd(page);
    await page.click("tbody tr td");
    await page.click("thead button");
    await page.fill("#filter", "a");
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "with a record open, sorted and filtered");
    await page.selectOption("#provider", "file");
    assert.deepEqual(await findings(page), [], "with a file to choose");
    await page.selectOption("#provider", "openai-chat");
    await page.click(".more summary");
    await page.check('input[value="tools"]');
    await page.fill("#tools", "{");
    await page.fill("#max-tokens", "-1");
    await page.click("#extract");
    assert.deepEqual(await findings(page), [], "with mistakes in the form");
    await page.fill("#max-tokens", "");
    const second = await ask(all, page, { tools: '[{"name": "t", "parameters": {"required": ["x"]}}]' });
    second.call(0, "t", '{"x": 1}');
    second.call(1, "t", "{}");
    second.call(2, "t", '{"x": ');
    await page.waitForSelector('.card[data-state="open"]');
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "with tool calls");
    second.finish("tool_calls");
    await waitForEnd(page);
    await check();
  });
}

test("a run with the keyboard only", async () => {
  const { page, check } = await open(all);
  const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.tagName);
  const tabTo = async (id, key = "Tab") => {
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press(key);
      if ((await focused()) === id) return;
    }
    assert.fail(`${id} cannot be reached`);
  };
  // The first stop leads past the form, and is seen then.
  await page.keyboard.press("Tab");
  const skip = page.locator(".skip");
  assert.equal(await skip.evaluate((link) => link === document.activeElement && link.getBoundingClientRect().top >= 0), true);
  await page.keyboard.press("Enter");
  assert.equal(await focused(), "results");
  await page.reload();
  await ready(page);

  await tabTo("provider");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
  await page.keyboard.type("OpenAI chat");
  await tabTo("model");
  await page.keyboard.type("test");
  await tabTo("prompt");
  await page.keyboard.type("Go.");
  await tabTo("check");
  await page.keyboard.press("ArrowRight"); // schema
  await tabTo("schema");
  await page.keyboard.type('{"required": ["n"],}');
  await tabTo("extract");
  await page.keyboard.press("Enter");
  // A mistake is said and gets the focus.
  assert.equal(await focused(), "schema");
  assert.match(await page.textContent("#schema-error"), /^Not valid JSON at line 1, column 20: /);
  assert.equal(await page.getAttribute("#schema", "aria-invalid"), "true");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Control+Enter");
  const model = await all.model.next();
  model.text('{"n": 1}\n{"m": 1}\n{"n": "2');
  await page.waitForSelector('tr[data-state="open"]');
  await page.waitForSelector("#rejected li");

  // The panes scroll by keyboard, the rejected text opens.
  await tabTo("stop");
  await page.keyboard.press("Space");
  await waitForStatus(page, "stopped");
  assert.equal(await focused(), "stop");
  await model.closed;
  assert.deepEqual((await rows(page)).map(([state]) => state), ["complete"]);
  await tabTo("SUMMARY");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#rejected pre").isVisible(), true);
  await tabTo("theme", "Shift+Tab");
  await page.keyboard.press("Space");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.equal(await page.getAttribute("#theme", "aria-pressed"), "true");
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await check();
});

test("a screen reader announces the events that matter, not each token", async () => {
  const { page, check } = await open(all);
  await page.evaluate(() => {
    window.said = [];
    const region = document.querySelector("#announcer");
    new MutationObserver(() => window.said.push(region.textContent)).observe(region, { childList: true, characterData: true, subtree: true });
  });
  const model = await ask(all, page);
  for (let n = 0; n < 40; n += 1) {
    model.text(`{"n": ${n}, "text": "some words`);
    await until(page, (n) => document.querySelectorAll('tr[data-state="complete"]').length === n, n);
    model.text('"}\n');
  }
  model.finish();
  await waitForStatus(page, "complete");
  const said = await page.evaluate(() => window.said);
  assert.equal(said[0], "Extraction started.");
  assert.equal(said[1], "First record complete.");
  assert.equal(said.at(-1), "Complete: 40 records, 0 rejected.");
  assert.ok(said.length <= 5, said.join("\n"));
  await check();
});

test("the page fits a phone", async () => {
  const { page, check } = await open(all, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  const model = await ask(all, page);
  model.text('{"entity": "a", "definition": "a definition that is rather long", "n": 1, "tags": ["x"]}\n');
  model.text(`{"${"k".repeat(80)}": "${"w".repeat(500)}", "broken": }\n{"${"k".repeat(80)}": "${"w".repeat(500)}"}\n{"open": "o`);
  await page.waitForSelector('tr[data-state="open"]');
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  // After Extract, the results are in sight.
  const top = await page.locator("#status").evaluate((status) => status.getBoundingClientRect().top);
  assert.ok(top < 740, `${top}`);
  model.finish();
  await waitForEnd(page);
  // The head of the table has no room: a list sorts.
  const long = await page.$$eval("#sort option", (all) => all.findIndex((option) => option.textContent.startsWith("By kk")));
  await page.selectOption("#sort", { index: long });
  await until(page, () => document.querySelector("tbody tr td:not(:empty)").dataset.label.startsWith("kk"));
  await page.fill("#filter", "entity");
  await until(page, () => document.querySelectorAll("tbody tr").length === 1);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  await check();
});

test("with reduced motion, nothing moves", async () => {
  const { page, check } = await open(all, { reducedMotion: "reduce" });
  const model = await ask(all, page);
  model.text('{"subject": "a", "predicate": "b", "object": "c"}\n{"entity": "d"}\n{"entity": "e');
  await page.waitForSelector('tr[data-state="open"]');
  await page.waitForSelector("#graph .node >> nth=2");
  const place = () => page.$eval("#graph svg", (svg) => svg.innerHTML + svg.getAttribute("viewBox"));
  const first = await place();
  await page.waitForTimeout(200);
  assert.equal(await place(), first);
  assert.equal(await page.evaluate(() => document.getAnimations().length), 0);
  model.finish();
  await waitForEnd(page);
  await check();
});
