// Saved prompts: with their schema and options, as a file, and by keyboard.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { open, ready, setup, until } from "./setup.mjs";
import { assertFits, findings, still, tabTo } from "./accessible.mjs";

const all = setup();

async function openPrompts(page) {
  await page.click('[data-opens="prompts"]');
  await page.waitForSelector("#prompts[open]");
}

async function save(page, name) {
  await openPrompts(page);
  await page.fill("#prompt-name", name);
  await page.click("#prompts .save-row button");
  await until(page, (name) => [...document.querySelectorAll("#prompts .entry-title")].some((its) => its.textContent === name), name);
  await page.keyboard.press("Escape");
}

const names = (page) => page.$$eval("#prompts .entry-title", (all) => all.map((its) => its.textContent));
const waitForNames = (page, names) =>
  until(page, (names) => JSON.stringify([...document.querySelectorAll("#prompts .entry-title")].map((its) => its.textContent)) === names, JSON.stringify(names));
const said = (page) => page.textContent("#prompts .dialog-foot .hint");
const SCHEMA = '{"properties": {"n": {"maximum": 3.0}}}';

async function fillForm(page, prompt) {
  await page.selectOption("#provider", "openai-chat");
  await page.fill("#model", "test");
  await page.fill("#prompt", prompt);
  await page.check('input[value="schema"]');
  await page.fill("#schema", SCHEMA);
  await page.fill("#text", "A text.");
}

const showOptions = (page) => page.$eval("#max-tokens", (field) => field.closest("details")?.setAttribute("open", ""));

test("a prompt is saved with its schema, and loaded after a reload", async () => {
  const { page, check } = await open(all);
  await fillForm(page, "List \"three\"\nrivers.");
  await showOptions(page);
  await page.fill("#max-tokens", "77");
  await save(page, "Rivers");
  await page.reload();
  await ready(page);
  await showOptions(page);
  await page.fill("#prompt", "Another.");
  await page.fill("#text", "Another text.");
  await page.fill("#model", "other");
  await page.check('input[value="none"]');
  await page.fill("#max-tokens", "");
  await openPrompts(page);
  assert.deepEqual(await names(page), ["Rivers"]);
  assert.equal(await page.textContent("#prompts .details"), 'List "three" rivers. \u00b7 with a schema');
  await page.click("#prompts button:has-text('Load')");
  assert.equal(await page.isVisible("#prompts"), false);
  assert.equal(await page.inputValue("#prompt"), 'List "three"\nrivers.');
  assert.equal(await page.isChecked('input[value="schema"]'), true);
  assert.equal(await page.inputValue("#schema"), SCHEMA);
  assert.equal(await page.inputValue("#max-tokens"), "77");
  // What is not of the prompt stays.
  assert.equal(await page.inputValue("#model"), "other");
  assert.equal(await page.inputValue("#text"), "Another text.");
  await check();
});

test("prompts are replaced, renamed and deleted, and may have their text", async () => {
  const { page, check } = await open(all);
  await fillForm(page, "One.");
  await save(page, "A");
  await save(page, "B");
  await page.fill("#prompt", "Two.");
  await openPrompts(page);
  await page.fill("#prompt-name", "A");
  assert.equal(await page.textContent("#prompts .save-row button"), "Replace");
  await page.check("#prompt-with-text");
  await page.keyboard.press("Tab");
  await page.focus("#prompt-name");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("#prompts .details").textContent === "Two. \u00b7 with a schema \u00b7 with its text");
  await page.click("#prompts li:nth-child(1) button:has-text('Rename')");
  await page.keyboard.type("B");
  await page.keyboard.press("Enter");
  await until(page, () => document.querySelector("#prompts .dialog-foot .hint").textContent === "Another prompt has this name.");
  await waitForNames(page, ["A", "B"]);
  await page.click("#prompts li:nth-child(1) button:has-text('Rename')");
  await page.keyboard.type("C");
  await page.keyboard.press("Enter");
  await waitForNames(page, ["B", "C"]);
  // Escape ends the renaming, not the dialog.
  await page.click("#prompts li:nth-child(1) button:has-text('Rename')");
  await page.keyboard.press("Escape");
  await waitForNames(page, ["B", "C"]);
  await page.click("#prompts li:nth-child(2) button:has-text('Load')");
  assert.equal(await page.inputValue("#text"), "A text.");
  await openPrompts(page);
  await page.click("#prompts li:nth-child(1) button:has-text('Delete')");
  await waitForNames(page, ["C"]);
  await page.fill("#prompt-name", "  ");
  await page.click("#prompts .save-row button");
  assert.equal(await page.textContent("#prompt-name-note"), "Enter a name.");
  await page.reload();
  await ready(page);
  await openPrompts(page);
  assert.deepEqual(await names(page), ["C"]);
  await check();
});

test("prompts go to another browser as a file, and a foreign file changes nothing", async () => {
  const first = await open(all);
  await fillForm(first.page, "One.");
  await openPrompts(first.page);
  await first.page.fill("#prompt-name", "<b>A</b>\u202e");
  await first.page.keyboard.press("Enter");
  await waitForNames(first.page, ["<b>A</b>\u27e8U+202E\u27e9"]);
  const [file] = await Promise.all([first.page.waitForEvent("download"), first.page.click("#prompts button:has-text('Export')")]);
  assert.equal(file.suggestedFilename(), "tokenline-prompts.json");
  const exported = await file.path();
  const { page, check } = await open(all);
  await page.selectOption("#provider", "openai-chat");
  await openPrompts(page);
  const put = async (content) => {
    const foreign = path.join(tmpdir(), `tokenline-prompts-${process.pid}.json`);
    writeFileSync(foreign, content);
    await page.setInputFiles("#prompts input[type=file]", foreign);
  };
  await put("{");
  await until(page, () => document.querySelector("#prompts .dialog-foot .hint").textContent === "The file is not JSON.");
  await put('{"format": "tokenline-prompts", "prompts": [{"name": "x", "values": {"prompt": {"a": 1}}}]}');
  await until(page, () => /^Prompt 1 of the file/.test(document.querySelector("#prompts .dialog-foot .hint").textContent));
  assert.deepEqual(await names(page), []);
  await page.setInputFiles("#prompts input[type=file]", exported);
  await until(page, () => document.querySelector("#prompts .dialog-foot .hint").textContent === "Imported 1 prompt.");
  await waitForNames(page, ["<b>A</b>\u27e8U+202E\u27e9"]);
  assert.equal(await page.locator("#prompts b").count(), 0);
  await page.click("#prompts button:has-text('Load')");
  assert.equal(await page.inputValue("#schema"), SCHEMA);
  await check();
  await first.check();
});

for (const colorScheme of ["light", "dark"]) {
  test(`saved prompts by keyboard, and axe-core finds nothing serious, ${colorScheme}`, async () => {
    const { page, check } = await open(all, { colorScheme, bypassCSP: true });
    await fillForm(page, "One.");
    await page.focus("#model");
    await tabTo(page, "Saved prompts");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#prompts[open]");
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "empty");
    await page.keyboard.type("A");
    await page.keyboard.press("Enter");
    await waitForNames(page, ["A"]);
    assert.equal(await said(page), "Saved as A.");
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "with a prompt");
    await tabTo(page, "Rename the prompt A");
    await page.keyboard.press("Enter");
    assert.deepEqual(await findings(page), [], "renaming");
    await page.keyboard.type("B");
    await page.keyboard.press("Enter");
    await waitForNames(page, ["B"]);
    await tabTo(page, "Load the prompt B");
    await page.keyboard.press("Enter");
    assert.equal(await page.isVisible("#prompts"), false);
    assert.equal(await page.evaluate(() => document.activeElement.dataset.opens), "prompts");
    await check();
  });
}

test("saved prompts fit a phone", async () => {
  const { page, check } = await open(all, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  await fillForm(page, "w".repeat(500));
  await save(page, "n".repeat(100));
  await openPrompts(page);
  await assertFits(page, "#prompts");
  await page.click("#prompts button:has-text('Rename')");
  await assertFits(page, "#prompts");
  await check();
});
