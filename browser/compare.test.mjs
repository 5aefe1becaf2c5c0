// Two runs of the history, side by side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, open, setup, until, waitForEnd } from "./setup.mjs";
import { assertFits, findings, still, tabTo } from "./accessible.mjs";
import { kept, openHistory, run, waitForEntries } from "./runs.mjs";

const all = setup();

/** Makes two runs with these texts, and opens their comparison. */
async function compareRuns(page, before, after) {
  await run(all, page, { prompt: "Before.", text: before });
  await kept(page, 1);
  await run(all, page, { prompt: "After.", text: after });
  await kept(page, 2);
  await openComparison(page);
}

async function openComparison(page) {
  await openHistory(page);
  await waitForEntries(page, 2);
  // The later one is the first of the list, and the second of the comparison.
  await page.check("#history .entries > li:nth-child(1) input");
  await page.check("#history .entries > li:nth-child(2) input");
  await page.click("#history .dialog-foot button:has-text('Compare')");
  await page.waitForSelector("#compare[open]");
}

/** [kind, record, before, after] of the differences. */
const differences = (page) =>
  page.$$eval("#compare .differences tbody tr", (all) =>
    all.map((row) => [
      row.dataset.kind,
      [...row.querySelectorAll("th .place, th .name")].map((its) => its.textContent).join(" "),
      ...[...row.querySelectorAll("td")].map((cell) => [...cell.children].map((its) => its.textContent).join("; ")),
    ]),
  );

const show = (page, filter) => page.check(`#compare input[value="${filter}"]`, { force: true });

test("records added, lost and changed", async () => {
  const { page, check } = await open(all);
  await compareRuns(
    page,
    '{"entity": "DNA", "n": 1}\n{"entity": "RNA", "n": 2}\n{"entity": "cell", "n": 3}\n{"broken": }\n',
    '{"entity": "DNA", "n": 1.0}\n{"entity": "cell", "n": 4, "m": [true]}\n{"entity": "gene", "n": 5}\n',
  );
  assert.equal(await page.textContent("#compare .counts"), "1 added \u00b7 1 lost \u00b7 1 changed \u00b7 1 same");
  assert.equal(await page.inputValue("#compare-key"), "=entity");
  assert.deepEqual(await differences(page), [
    ["lost", "#2", "entity RNA; n 2", "\u2013"],
    ["changed", "#3 \u2192 2 cell", "n 3; m \u2013", "n 4; m [true]"],
    ["added", "#3", "\u2013", "entity gene; n 5"],
  ]);
  for (const [filter, kinds] of [["added", ["added"]], ["lost", ["lost"]], ["changed", ["changed"]], ["differences", ["lost", "changed", "added"]]]) {
    await show(page, filter);
    assert.deepEqual((await differences(page)).map(([kind]) => kind), kinds);
  }
  // The same value in other words.
  await show(page, "same");
  assert.deepEqual(await differences(page), [["same", "#1 DNA", "n 1 (same value)", "n 1.0 (same value)"]]);
  const figures = await page.$$eval("#compare .run-figures tbody tr", (all) => all.map((row) => [...row.children].map((its) => its.textContent)));
  const figure = (name) => figures.find(([its]) => its === name).slice(1);
  assert.deepEqual(figure("Prompt"), ["Before.", "After."]);
  assert.deepEqual(figure("Records"), ["3", "3"]);
  assert.deepEqual(figure("Rejected"), ["1", "0"]);
  assert.match(figure("First record").join(" "), /^[\d.]+ m?s [\d.]+ m?s$/);
  await check();
});

/** The figures of the two runs: [name, before, after]. */
const figures = (page) => page.$$eval("#compare .run-figures tbody tr", (all) => all.map((row) => [...row.children].map((its) => its.textContent)));

test("whole prompts with their changed words, and the settings that differ", async () => {
  const { page, check } = await open(all);
  const begin = "List rivers. ".repeat(20);
  await page.selectOption("#provider", "openai-chat");
  await page.$eval("#temperature", (field) => field.closest("details").setAttribute("open", ""));
  await page.fill("#system", "Brief.");
  await run(all, page, { prompt: `${begin}Three <b>only</b>.` });
  await kept(page, 1);
  await page.fill("#temperature", "0.7");
  await page.fill("#seed", "7");
  await page.fill("#set", '{"reasoning_effort": "low"}');
  await page.selectOption("#reask", "2");
  await page.check("#repair");
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"required": ["n"]}');
  await page.fill("#text", "Of Europe.");
  await run(all, page, { prompt: `${begin}Four <b>only</b>.` });
  await kept(page, 2);
  await openComparison(page);
  const rows = await figures(page);
  const row = (name) => rows.find(([its]) => its === name)?.slice(1);
  assert.deepEqual(row("Prompt"), [`${begin}Three <b>only</b>.`, `${begin}Four <b>only</b>.`]);
  assert.deepEqual(row("System prompt"), ["Brief.", "Brief."]);
  assert.deepEqual(await page.$$eval("#compare .whole-text :is(del, ins)", (all) => all.slice(0, 2).map((its) => [its.localName, its.textContent])), [["del", "Three"], ["ins", "Four"]]);
  assert.deepEqual(row("Temperature"), ["\u2013", "0.7"]);
  assert.deepEqual(row("Seed"), ["\u2013", "7"]);
  assert.deepEqual(row("Ask again"), ["never", "twice"]);
  assert.deepEqual(row("Repair"), ["no", "yes"]);
  assert.deepEqual(row("Check against"), ["nothing", "a schema"]);
  assert.deepEqual(row("Send the schema"), ["\u2013", "in the system prompt"]);
  assert.deepEqual(row("Schema"), ["\u2013", '{"required": ["n"]}']);
  assert.deepEqual(row("Text"), ["\u2013", "Of Europe."]);
  assert.deepEqual(row("Further members"), ["\u2013", '{"reasoning_effort": "low"}']);
  for (const name of ["Max tokens", "Stop on repetition", "Tools", "Tool calls", "Base URL", "Pace"]) assert.equal(row(name), undefined, name);
  // The choices stand in one line.
  const [select, choice] = await Promise.all(["#compare-key", "#compare .choice"].map((its) => page.$eval(its, (node) => node.getBoundingClientRect().toJSON())));
  const [label, legend] = await Promise.all(["label[for=compare-key]", "#compare legend"].map((its) => page.$eval(its, (node) => node.getBoundingClientRect().toJSON())));
  assert.ok(Math.abs(select.bottom - choice.bottom) < 1 && Math.abs(label.top - legend.top) < 1, JSON.stringify([select.bottom, choice.bottom, label.top, legend.top]));
  await check();
});

test("long texts can be folded, both at once, and too long ones are not marked", async () => {
  const { page, check } = await open(all);
  const words = (count, word) => Array.from({ length: count }, (_, at) => `${word}${at}`).join(" ");
  await page.selectOption("#provider", "openai-chat");
  await page.$eval("#system", (field) => field.closest("details").setAttribute("open", ""));
  await page.fill("#system", words(200, "s"));
  await run(all, page, { prompt: words(6000, "a") });
  await kept(page, 1);
  await run(all, page, { prompt: words(6000, "b") });
  await kept(page, 2);
  await openComparison(page);
  const folds = () => page.$$eval("#compare .run-figures details", (all) => all.map((its) => [its.open, its.firstChild.textContent.replace(/^[\d,]+ /, "")]));
  const same = "characters, the same";
  const changed = "characters, changed, too long to mark the words";
  assert.deepEqual(await folds(), [[true, changed], [true, changed], [false, same], [false, same]]);
  assert.equal(await page.locator("#compare .whole-text :is(del, ins)").count(), 0);
  await page.click("#compare .run-figures details >> nth=1 >> summary");
  await until(page, () => [...document.querySelectorAll("#compare .run-figures details")].every((its) => !its.open));
  await check();
});

test("the member that names a record is chosen", async () => {
  const { page, check } = await open(all);
  await compareRuns(page, '{"id": 1, "sku": "x"}\n{"id": 2, "sku": "y"}\n', '{"id": 1, "sku": "y"}\n{"id": 2, "sku": "x"}\n');
  const options = await page.$$eval("#compare-key option", (all) => all.map((its) => its.textContent));
  assert.deepEqual(options, ["id", "sku", "The most similar record"]);
  assert.deepEqual((await differences(page)).map(([, , before, after]) => [before, after]), [["sku x", "sku y"], ["sku y", "sku x"]]);
  await page.selectOption("#compare-key", "=sku");
  assert.deepEqual((await differences(page)).map(([, , before, after]) => [before, after]), [["id 2", "id 1"], ["id 1", "id 2"]]);
  await page.selectOption("#compare-key", "*");
  assert.equal(await page.textContent("#compare .counts"), "0 added \u00b7 0 lost \u00b7 2 changed \u00b7 0 same");
  await check();
});

test("equal runs have no differences", async () => {
  const { page, check } = await open(all);
  await compareRuns(page, '{"a": 1}\n{"a": 2}\n', '{ "a" : 1 }\n{"a": 2}\n');
  assert.equal(await page.textContent("#compare .empty"), "The records are the same.");
  assert.deepEqual(await differences(page), []);
  await show(page, "added");
  assert.equal(await page.textContent("#compare .empty"), "No records are added.");
  await check();
});

test("tool calls are compared without their ids", async () => {
  const { page, check } = await open(all);
  for (const [at, queries] of [["a", "b"], ["b", "c"]].entries()) {
    const model = await ask(all, page, { tools: '[{"name": "search", "parameters": {}}]' });
    queries.forEach((query, index) => model.call(index + at, "search", `{"query": "${query}"}`));
    model.finish("tool_calls");
    await waitForEnd(page);
    await kept(page, at + 1);
  }
  await openComparison(page);
  assert.equal(await page.textContent("#compare .counts"), "0 added \u00b7 0 lost \u00b7 1 changed \u00b7 1 same");
  assert.deepEqual(await differences(page), [["changed", "#1 \u2192 2", 'parameters {"query": "a"}', 'parameters {"query": "c"}']]);
  await check();
});

test("values of a model are text, and clipped", async () => {
  const { page, check } = await open(all);
  const markup = '<img src=x onerror="window.hacked=1"><b>bold</b>';
  const long = "x".repeat(1_000_000);
  const record = (value) => `${JSON.stringify({ id: 1, [markup]: value, "__proto__x": { [markup]: markup }, long: `${long}${value}` })}\n`;
  await compareRuns(page, record(markup), record("evil\u202e\u05d0\u0007"));
  const [[kind, , before, after]] = await differences(page);
  assert.equal(kind, "changed");
  assert.ok(before.startsWith(`${markup.slice(0, 20)}`) && before.includes("<b>bold</b>"), before.slice(0, 200));
  assert.ok(after.includes("evil\u27e8U+202E\u27e9\u05d0\u27e8U+0007\u27e9"), after.slice(0, 200));
  assert.ok(after.includes("\u2026 (1,000,007 characters)"), after.slice(-100));
  assert.ok(before.length + after.length < 3000);
  assert.equal(await page.locator("#compare :is(img, b, script)").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok((await page.evaluate(() => document.querySelector("#compare .dialog-body").scrollWidth - document.querySelector("#compare .dialog-body").clientWidth)) <= 0);
  await check();
});

test("of many records, some are shown at a time", async () => {
  const { page, check } = await open(all);
  const list = (count, text) => Array.from({ length: count }, (_, n) => `${text(n)}\n`).join("");
  await compareRuns(page, list(1000, (n) => `{"id": ${n}, "v": 1}`), list(1000, (n) => `{"id": ${n}, "v": 2}`));
  assert.equal((await differences(page)).length, 200);
  await page.click("#compare button:has-text('Show 200 more records')");
  assert.equal((await differences(page)).length, 400);
  assert.equal(await page.textContent("#compare .counts"), "0 added \u00b7 0 lost \u00b7 1,000 changed \u00b7 0 same");
  await check();
});

for (const colorScheme of ["light", "dark"]) {
  test(`the comparison by keyboard, and axe-core finds nothing serious, ${colorScheme}`, async () => {
    const { page, check } = await open(all, { colorScheme, bypassCSP: true });
    await compareRuns(page, '{"entity": "a", "n": 1}\n{"entity": "b", "n": 2}\n', '{"entity": "a", "n": 2}\n{"entity": "c", "n": 1}\n');
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "differences");
    await tabTo(page, "compare-key");
    await page.keyboard.press("ArrowDown");
    await tabTo(page, "compare-filter");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.isChecked('#compare input[value="added"]'), true);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await page.isChecked('#compare input[value="same"]'), true);
    assert.deepEqual(await findings(page), [], "nothing the same");
    await page.keyboard.press("Escape");
    assert.equal(await page.isVisible("#compare"), false);
    assert.equal(await page.isVisible("#history"), true);
    await check();
  });
}

test("the comparison fits a phone", async () => {
  const { page, check } = await open(all, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  const record = (value) => `{"${"k".repeat(80)}": "${value.repeat(300)}", "id": "${"i".repeat(200)}"}\n`;
  await compareRuns(page, `${record("w")}{"a": 1, "id": 0}\n`, `${record("v")}{"b": 1, "id": 9}\n`);
  await assertFits(page, "#compare");
  // Each side says which one it is, and the figures stay a table.
  assert.equal(await page.$eval("#compare .differences td", (cell) => getComputedStyle(cell, "::before").content), '"Before"');
  const [head, row] = await page.$$eval("#compare .run-figures tr", (all) => all.map((its) => [...its.children].map((cell) => Math.round(cell.getBoundingClientRect().left))));
  assert.deepEqual(head, row);
  await check();
});
