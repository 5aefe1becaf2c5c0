// Runs that the browser keeps: they open as they were, and go when they shall.

import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, download, open, ready, rows, setup, until, waitForStatus } from "./setup.mjs";
import { assertFits, findings, still, tabTo } from "./accessible.mjs";
import { dump, entries, kept, openHistory, run, titles, waitForEntries } from "./runs.mjs";

const all = setup();

test("a run is kept with its form, and opens after a reload as it was", async () => {
  const { page, check } = await open(all);
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"required": ["n"]}');
  await run(all, page, { prompt: "List three\nrivers.", text: '{"n": 1.00}\n{"n": 12345678901234567890}\n{"m": 1}\n' });
  await kept(page, 1);
  await page.reload();
  await ready(page);
  await page.fill("#prompt", "Another.");
  await page.check('input[value="none"]');
  await run(all, page, { prompt: "Another." });
  await kept(page, 2);
  await openHistory(page);
  const [latest, first] = await entries(page);
  assert.equal(latest[0], "Another.");
  assert.equal(first[0], "List three rivers.");
  assert.match(first[1], /^[A-Z][a-z]{2} \d+, \d{4}, .* \u00b7 openai-chat \/ test \u00b7 2 records, 1 rejected \u00b7 Complete \u00b7 schema$/);
  await page.click("#history .entries > li:nth-child(2) button:has-text('Open')");
  await until(page, () => document.querySelectorAll('#records tbody tr[data-state="complete"]').length === 2);
  assert.deepEqual((await rows(page)).map(([, , n]) => n), ["1.00", "12345678901234567890"]);
  assert.equal(await page.locator("#rejected li").count(), 1);
  assert.equal(await page.inputValue("#prompt"), "List three\nrivers.");
  assert.equal(await page.isChecked('input[value="schema"]'), true);
  assert.equal(await page.inputValue("#schema"), '{"required": ["n"]}');
  assert.equal(await page.evaluate(() => document.activeElement.id), "results");
  assert.deepEqual((await download(page)).lines, ['{"n": 1.00}', '{"n": 12345678901234567890}']);
  assert.ok((await page.textContent("#text-pane .pane")).includes('{"m": 1}'));
  // What was opened is no run that ended just now.
  await page.reload();
  await ready(page);
  await openHistory(page);
  await waitForEntries(page, 2);
  await check();
});

test("recordings and runs that stop or fail are kept, too", async () => {
  const { page, check } = await open(all, { mayFail: [/status of 4/] });
  await page.selectOption("#provider", "recorded");
  await page.selectOption("#recording", "definitions");
  await page.fill("#delay", "0");
  await page.click("#extract");
  await waitForStatus(page, "complete");
  await kept(page, 1);
  const model = await ask(all, page, { prompt: "Stop me." });
  model.text('{"n": 1}\n{"n');
  await until(page, () => document.querySelectorAll('tr[data-state="complete"]').length === 1);
  await page.click("#stop");
  await waitForStatus(page, "stopped");
  await kept(page, 2);
  await openHistory(page);
  const [stopped, recorded] = await entries(page);
  assert.deepEqual([stopped[0], recorded[0]], ["Stop me.", "Recording: definitions"]);
  assert.match(stopped[1], /1 record \u00b7 Stopped$/);
  assert.match(recorded[1], /recorded \/ definitions \u00b7 \d+ records/);
  await page.click("#history .entries > li:nth-child(2) button:has-text('Open')");
  await until(page, () => document.querySelector("#provider").value === "recorded");
  assert.equal(await page.inputValue("#recording"), "definitions");
  await check();
});

test("a run that goes on after a reload is kept once, with the values that it began with", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { prompt: "At first." });
  model.text('{"n": 1}\n');
  await until(page, () => document.querySelectorAll('tr[data-state="complete"]').length === 1);
  await page.fill("#prompt", "Edited meanwhile.");
  await page.reload();
  await ready(page);
  await waitForStatus(page, "running");
  model.text('{"n": 2}\n');
  model.finish();
  await waitForStatus(page, "complete");
  await kept(page, 1);
  await openHistory(page);
  assert.deepEqual(await titles(page), ["At first."]);
  assert.match((await entries(page))[0][1], /2 records/);
  // Deleted, it does not come back.
  await page.click("#history .entries button:has-text('Delete')");
  await waitForEntries(page, 0);
  await page.reload();
  await ready(page);
  await waitForStatus(page, "complete");
  await openHistory(page);
  assert.deepEqual(await titles(page), []);
  await check();
});

test("switched off, nothing is kept, and what is there stays until it is deleted", async () => {
  const { page, check } = await open(all);
  await run(all, page, { prompt: "On." });
  await kept(page, 1);
  await openHistory(page);
  assert.equal(await page.isChecked("#keep-history"), true);
  await page.uncheck("#keep-history");
  await page.keyboard.press("Escape");
  await run(all, page, { prompt: "Off, which is a secret." });
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  assert.ok(!(await dump(page)).includes("a secret"));
  await page.reload();
  await ready(page);
  // A reload brings back the settings, but neither the texts nor the run.
  await waitForStatus(page, "idle");
  assert.deepEqual([await page.inputValue("#model"), await page.inputValue("#prompt")], ["test", ""]);
  await openHistory(page);
  assert.equal(await page.isChecked("#keep-history"), false);
  assert.deepEqual(await titles(page), ["On."]);
  await page.keyboard.press("Escape");
  const stored = await page.evaluate(() => Object.keys(localStorage));
  assert.deepEqual(stored, ["tokenline-history"]);
  await openHistory(page);
  await page.check("#keep-history");
  await page.keyboard.press("Escape");
  await run(all, page, { prompt: "On again." });
  await kept(page, 2);
  await check();
});

test("runs are deleted one by one, or all after a question", async () => {
  const { page, check } = await open(all);
  for (const prompt of ["One.", "Two.", "Three."]) await run(all, page, { prompt });
  await kept(page, 3);
  await openHistory(page);
  await page.click("#history .entries > li:nth-child(2) button:has-text('Delete')");
  await waitForEntries(page, 2);
  assert.deepEqual(await titles(page), ["Three.", "One."]);
  // The next entry has the focus, not the page.
  assert.match(await page.evaluate(() => document.activeElement.textContent), /^Delete the run One\./);
  await page.click("#history button:has-text('Clear all')");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Keep them");
  await page.keyboard.press("Enter");
  assert.deepEqual(await titles(page), ["Three.", "One."]);
  await page.click("#history button:has-text('Clear all')");
  assert.equal(await page.textContent("#clear-question"), "Delete all runs, and what this page shows?");
  await page.click("#history button:text-is('Delete all')");
  await waitForEntries(page, 0);
  await until(page, () => document.activeElement.id === "keep-history");
  // With nothing to do, the foot is no blank strip.
  assert.equal(await page.isVisible("#history .dialog-foot"), false);
  await waitForStatus(page, "idle");
  assert.match(await page.textContent("#history .empty"), /^No runs yet/);
  await page.reload();
  await ready(page);
  await waitForStatus(page, "idle");
  assert.equal(await page.locator("#records tbody tr").count(), 0);
  assert.deepEqual([await page.inputValue("#model"), await page.inputValue("#prompt")], ["test", ""]);
  await openHistory(page);
  assert.deepEqual(await titles(page), []);
  await page.evaluate(() => dispatchEvent(new Event("pagehide")));
  const stored = await dump(page);
  for (const text of ["One.", "Two.", "Three."]) assert.ok(!stored.includes(text), text);
  await check();
});

test("all is cleared without a list, too, and a run that goes on stays", async () => {
  const { page, check } = await open(all);
  await openHistory(page);
  await page.uncheck("#keep-history");
  assert.equal(await page.isVisible("#history button:has-text('Clear all')"), false);
  await page.keyboard.press("Escape");
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"title": "private"}');
  await run(all, page, { prompt: "Private." });
  await openHistory(page);
  await page.click("#history button:has-text('Clear all')");
  await page.click("#history button:text-is('Delete all')");
  await waitForStatus(page, "idle");
  assert.deepEqual([await page.inputValue("#prompt"), await page.inputValue("#schema")], ["", ""]);
  await page.check("#keep-history");
  await page.keyboard.press("Escape");
  const model = await ask(all, page, { prompt: "Goes on." });
  model.text('{"n": 1}\n');
  await until(page, () => document.querySelectorAll('tr[data-state="complete"]').length === 1);
  await openHistory(page);
  await page.click("#history button:has-text('Clear all')");
  assert.equal(await page.textContent("#clear-question"), "Delete all runs but the one that is going on?");
  await page.click("#history button:text-is('Delete all')");
  await until(page, () => document.querySelector("#history .confirm").hidden);
  model.text('{"n": 2}\n');
  model.finish();
  await waitForEntries(page, 1);
  assert.deepEqual(await titles(page), ["Goes on."]);
  await check();
});

test("a chosen file is forgotten, too", async () => {
  const { page, check } = await open(all);
  await page.selectOption("#provider", "file");
  const hint = await page.textContent("#file-name");
  await page.setInputFiles("#file", { name: "private.txt", mimeType: "text/plain", buffer: Buffer.from('{"n": 1}\n') });
  await page.click("#extract");
  await kept(page, 1);
  await openHistory(page);
  await page.click("#history button:has-text('Clear all')");
  await page.click("#history button:text-is('Delete all')");
  await waitForStatus(page, "idle");
  assert.equal(await page.textContent("#file-name"), hint);
  await page.keyboard.press("Escape");
  await page.click("#extract");
  await page.waitForSelector("#file-error:not([hidden])");
  await check();
});

test("a deleted run comes back, until the dialog closes", async () => {
  const { page, check } = await open(all);
  for (const prompt of ["One.", "Two.", "Three."]) await run(all, page, { prompt, text: `{"is": "${prompt}"}\n` });
  await kept(page, 3);
  await openHistory(page);
  const remove = (at) => page.click(`#history .entries > li:nth-child(${at}) button:has-text('Delete')`);
  await remove(2);
  await waitForEntries(page, 2);
  await page.waitForSelector("#history .dialog-foot button:has-text('Undo')");
  assert.equal(await page.textContent("#history .dialog-foot [role=status]"), "Deleted.");
  await remove(1);
  await waitForEntries(page, 1);
  await until(page, () => document.querySelector("#history .dialog-foot [role=status]").textContent === "2 runs deleted.");
  await page.click("#history .dialog-foot button:has-text('Undo')");
  await waitForEntries(page, 3);
  assert.deepEqual(await titles(page), ["Three.", "Two.", "One."]);
  await until(page, () => /^Open the run Three\./.test(document.activeElement.textContent));
  assert.equal(await page.isVisible("#history .dialog-foot button:has-text('Undo')"), false);
  await page.click("#history .entries > li:nth-child(2) button:has-text('Open')");
  await until(page, () => document.querySelector("#records tbody")?.textContent.includes("Two."));
  await openHistory(page);
  await remove(3);
  await page.waitForSelector("#history .dialog-foot button:has-text('Undo')");
  await page.keyboard.press("Escape");
  await openHistory(page);
  assert.equal(await page.isVisible("#history .dialog-foot button:has-text('Undo')"), false);
  assert.deepEqual(await titles(page), ["Three.", "Two."]);
  await check();
});

test("Undo goes after a while, but not while it has the focus", async () => {
  // Ten seconds are half a one here.
  const init = () => {
    const { setTimeout: wait } = window;
    window.setTimeout = (act, time, ...more) => wait(act, time === 10_000 ? 500 : time, ...more);
  };
  const { page, check } = await open(all, { init });
  await run(all, page, { prompt: "One." });
  await kept(page, 1);
  await openHistory(page);
  await page.click("#history .entries button:has-text('Delete')");
  const undo = "#history .dialog-foot button:has-text('Undo')";
  await page.waitForSelector(undo);
  await page.focus(undo);
  await page.waitForTimeout(1200);
  assert.equal(await page.isVisible(undo), true);
  await page.focus("#keep-history");
  await page.waitForSelector(undo, { state: "hidden" });
  assert.deepEqual(await titles(page), []);
  await check();
});

test("runs of one title say what differs, and can be named", async () => {
  const { page, check } = await open(all);
  const begin = "List rivers, one line each, with their length in kilometres, the countries that they flow through, and the sea at their end; ";
  await run(all, page, { prompt: `${begin}three of Europe.` });
  await page.$eval("#temperature", (field) => field.closest("details").setAttribute("open", ""));
  await page.fill("#temperature", "0.7");
  await run(all, page, { prompt: `${begin}four of Europe.` });
  await run(all, page, { prompt: `${begin}four of Europe.` });
  await kept(page, 3);
  await openHistory(page);
  const differences = () => page.$$eval("#history .entries > li", (all) => all.map((its) => its.querySelector(".difference")?.textContent ?? ""));
  assert.match((await titles(page))[0], /^List rivers, .* sea at their\u2026$/);
  assert.deepEqual(await differences(), ["the same request", "prompt \u201cthree\u201d \u2192 \u201cfour\u201d \u00b7 temperature none \u2192 0.7", ""]);
  // By keyboard.
  await page.focus("#history .entries > li:nth-child(2) button:has-text('Rename')");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Name of the run");
  await page.keyboard.press("Escape");
  await until(page, () => /^Rename/.test(document.activeElement.textContent));
  assert.equal(await page.isVisible("#history"), true);
  await page.keyboard.press("Enter");
  await page.keyboard.type("Warm <b>");
  await page.keyboard.press("Enter");
  await until(page, () => /^Rename the run Warm <b>,/.test(document.activeElement.textContent));
  assert.equal((await titles(page))[1], "Warm <b>");
  // A name is no other title.
  assert.equal((await differences())[0], "the same request");
  await page.reload();
  await ready(page);
  await openHistory(page);
  assert.equal((await titles(page))[1], "Warm <b>");
  // Without a name, it has its title again.
  await page.click("#history .entries > li:nth-child(2) button:has-text('Rename')");
  await page.fill("#history .entries input[type=text]", "");
  await page.click("#history .entries button:has-text('Save')");
  await until(page, () => /^List rivers/.test(document.querySelectorAll("#history .entry-title")[1]?.textContent));
  await check();
});

test("a prompt and a model's name are shown as text, whatever they are", async () => {
  const { page, check } = await open(all);
  const markup = '<img src=x onerror="window.hacked=1">\u202eevil';
  await run(all, page, { prompt: markup, text: `${JSON.stringify({ [markup]: markup })}\n` });
  await kept(page, 1);
  await openHistory(page);
  assert.deepEqual(await titles(page), [markup.replace("\u202e", "\u27e8U+202E\u27e9")]);
  assert.equal(await page.locator("#history :is(img, b)").count(), 0);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  await check();
});

test("while a run goes on, another is not opened", async () => {
  const { page, check } = await open(all);
  await run(all, page, { prompt: "First." });
  await kept(page, 1);
  const model = await ask(all, page, { prompt: "Second." });
  model.text('{"second": 1}\n');
  await until(page, () => document.querySelectorAll('tr[data-state="complete"]').length === 1);
  await openHistory(page);
  await page.click("#history .entries button:has-text('Open')");
  assert.match(await page.textContent("#history .dialog-foot .hint"), /^A run is going on\./);
  assert.equal(await page.inputValue("#prompt"), "Second.");
  model.finish();
  await waitForEntries(page, 2);
  await page.click("#history .entries > li:nth-child(2) button:has-text('Open')");
  await until(page, () => document.querySelector("#prompt").value === "First.");
  await check();
});

for (const colorScheme of ["light", "dark"]) {
  test(`the history by keyboard, and axe-core finds nothing serious, ${colorScheme}`, async () => {
    const { page, check } = await open(all, { colorScheme, bypassCSP: true });
    await page.click('[data-opens="history"]');
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "empty");
    await page.keyboard.press("Escape");
    for (const prompt of ["One.", "Two.", "Three."]) await run(all, page, { prompt });
    await kept(page, 3);
    await page.focus("#theme");
    await tabTo(page, "History", "Shift+Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#history[open]");
    const choose = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
    const until = async (pattern, key = "Tab") => {
      for (let presses = 0; presses < 40; presses += 1) {
        await page.keyboard.press(key);
        if (pattern.test(await choose())) return;
      }
      assert.fail(`${pattern} cannot be reached`);
    };
    await until(/^Choose to compare: Three\./);
    await page.keyboard.press("Space");
    await until(/^Choose to compare: One\./);
    await page.keyboard.press("Space");
    assert.equal(await page.$eval("#history .entries > li:nth-child(2) input", (box) => box.disabled), true);
    assert.equal(await page.textContent("#history .dialog-foot .hint"), "Two runs are chosen.");
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "with runs");
    await until(/^Clear all$/);
    await page.keyboard.press("Enter");
    assert.deepEqual(await findings(page), [], "with the question");
    await page.keyboard.press("Enter"); // keep them
    await until(/^Compare$/);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#compare[open]");
    await page.keyboard.press("Escape");
    assert.equal(await choose(), "Compare");
    await page.keyboard.press("Escape");
    assert.equal(await choose(), "History");
    await check();
  });
}

test("the history fits a phone", async () => {
  const { page, check } = await open(all, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  await run(all, page, { prompt: "w".repeat(200), text: `{"${"k".repeat(80)}": 1}\n{"broken": }\n` });
  await run(all, page, { prompt: "Short." });
  await kept(page, 2);
  await openHistory(page);
  await assertFits(page, "#history");
  await page.click("#history button:has-text('Clear all')");
  await assertFits(page, "#history");
  await check();
});
