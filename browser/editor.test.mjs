// The wide editor for schema and tools.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { ask, open, setup, until, waitForEnd } from "./setup.mjs";

const all = setup();
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page with the editor open for a text. */
async function openEditor(text, options = {}, kind = "schema") {
  const { page, check } = await open(all, options);
  await edit(page, text, kind);
  return { page, check };
}

async function edit(page, text, kind = "schema") {
  await page.check(`input[value="${kind}"]`);
  // `fill` types the text: a thousand lines take seconds.
  await page.$eval(`#${kind}`, (field, text) => {
    field.value = text;
    for (const type of ["input", "change"]) field.dispatchEvent(new Event(type, { bubbles: true }));
  }, text);
  await page.click(`[data-edit="${kind}"]`);
  await page.waitForSelector("#editor[open]");
}

const written = (page) => page.$eval("#editor-text", (area) => area.value);
const summaryIs = (page, text) => until(page, (text) => document.querySelector("#editor-summary").textContent === text, text);
const isOpen = (page) => page.$eval("#editor", (dialog) => dialog.open);
const focused = (page) => page.evaluate(() => document.activeElement.id);
const labels = (page) => page.$$eval("#editor-suggestions li", (all) => all.map((option) => option.firstChild.textContent));
/** The line and column of the caret, both from 1. */
const caret = (page) =>
  page.$eval("#editor-text", ({ value, selectionStart, selectionEnd }) => {
    const before = value.slice(0, selectionStart).split("\n");
    return selectionStart === selectionEnd ? [before.length, before.at(-1).length + 1] : null;
  });
const faults = (page) => page.$$eval("#editor-faults li", (all) => all.map((item) => item.textContent));
/** The marked lines, with what a screen reader reads there. */
const marks = (page) =>
  page.$$eval("#editor-gutter :is(.error, .warning)", (rows) => rows.map((row) => [row.firstChild.textContent, row.lastChild.textContent]));

const SCHEMA = '{\n  "properties": {\n    "n": { "minimum": 0 }\n  },\n  "required": ["n"]\n}';

test("faults stand at their line, and go when they are fixed", async () => {
  const { page, check } = await openEditor(SCHEMA.replace('"minimum": 0', '"minLength": -1'));
  await summaryIs(page, "1 fault.");
  const [fault] = await faults(page);
  assert.match(fault, /^3:25 .*-1 is less than the minimum of 0/);
  const [[line, text]] = await marks(page);
  assert.equal(line, "3");
  assert.match(text, /^Error in line 3: .*-1 is less than/);
  assert.equal(await page.getAttribute("#editor-text", "aria-invalid"), "true");
  // The number is beside its line.
  const [number, top] = await page.$eval("#editor-gutter .error", (row) => {
    const area = document.querySelector("#editor-text");
    const { paddingTop, lineHeight } = getComputedStyle(area);
    const line = area.getBoundingClientRect().top + parseFloat(paddingTop) + 2 * parseFloat(lineHeight);
    return [row.getBoundingClientRect().top, line];
  });
  assert.ok(Math.abs(number - top) < 1, `${number} beside ${top}`);

  await page.click(".fault");
  assert.equal(await focused(page), "editor-text");
  assert.deepEqual(await caret(page), [3, 25]);
  await page.keyboard.press("Delete");
  await page.keyboard.press("Delete");
  await page.keyboard.type("7");
  await summaryIs(page, "No faults.");
  assert.deepEqual(await faults(page), []);
  assert.deepEqual(await marks(page), []);
  assert.equal(await page.getAttribute("#editor-text", "aria-invalid"), null);
  await page.click("#editor-done");
  assert.equal(await page.inputValue("#schema"), SCHEMA.replace('"minimum": 0', '"minLength": 7'));
  await check();
});

test("F8 leads to a fault behind characters of more than one byte, and each way to say it says it once", async () => {
  const { page, check } = await openEditor('{\n  "title": "Zürich 🙂", "type": strin }');
  await summaryIs(page, "1 fault.");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("F8");
  assert.deepEqual(await caret(page), [2, 33]);
  assert.match(await page.textContent("#editor-status"), /^Line 2, column 33: /);
  assert.equal((await faults(page)).length, 1);
  assert.equal(await page.getAttribute(".fault", "aria-current"), "true");
  // Tools are checked as tools.
  await page.keyboard.press("Escape");
  await edit(page, '[{"name": "f"},\n {"parameters": {}}]', "tools");
  await summaryIs(page, "1 fault.");
  assert.match((await faults(page))[0], /^2:\d+ .*missing field `name`/);
  await check();
});

test("warnings are marked in another way than errors, in the order of the text", async () => {
  const { page, check } = await openEditor('{\n  "typ": "object",\n  "properties": { "a": { "minlength": 1 } }\n}');
  await summaryIs(page, "2 warnings.");
  assert.deepEqual((await faults(page)).map((fault) => /^(\d):\d+ Warning: .*did you mean `(\w+)`\?$/.exec(fault)?.slice(1)), [["2", "type"], ["3", "minLength"]]);
  assert.deepEqual((await marks(page)).map(([line, text]) => [line, text.slice(0, 18)]), [["2", "Warning in line 2:"], ["3", "Warning in line 3:"]]);
  // A schema with warnings is not invalid.
  assert.equal(await page.getAttribute("#editor-text", "aria-invalid"), null);
  await page.keyboard.press("Control+Home");
  const lines = [];
  for (const key of ["F8", "F8", "F8", "Shift+F8"]) {
    await page.keyboard.press(key);
    lines.push((await caret(page))[0]);
  }
  assert.deepEqual(lines, [2, 3, 2, 3]);
  await check();
});

test("only the check of the last text is shown", async () => {
  const { page, check } = await openEditor("{}");
  await summaryIs(page, "No faults.");
  // The server's own responses, and the first of them late.
  const asked = [];
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/api/check", async (route) => {
    asked.push(route.request().postDataJSON().text);
    const isFirst = asked.length === 1;
    const response = await route.fetch();
    if (isFirst) await held;
    // A request that the page gave up cannot be answered.
    await route.fulfill({ response }).catch(() => {});
  });
  await page.keyboard.press("Control+a");
  await page.keyboard.type("[");
  while (asked.length < 1) await page.waitForTimeout(20);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("{}  ", { delay: 30 });
  assert.equal(await page.getAttribute("#editor-summary", "aria-busy"), "true");
  await until(page, () => document.querySelector("#editor-summary").ariaBusy === "false");
  release();
  await page.waitForTimeout(200);
  assert.equal(await page.textContent("#editor-summary"), "No faults.");
  assert.deepEqual(asked, ["[", "{}  "], "one check after the last key");
  await check();
});

test("a server that cannot be asked is said", async () => {
  const { page, check } = await open(all, { mayFail: [/Failed to load resource/] });
  await page.route("**/api/check", (route) => route.abort());
  await edit(page, "{}");
  await until(page, () => /^Not checked: /.test(document.querySelector("#editor-summary").textContent));
  // It can be used all the same.
  await page.keyboard.type(" ");
  await page.click("#editor-done");
  assert.equal(await page.inputValue("#schema"), "{} ");
  await check();
});

test("a schema by keyboard alone, with completion", async () => {
  const { page, check } = await open(all);
  await page.check('input[value="schema"]');
  await page.focus('[data-edit="schema"]');
  await page.keyboard.press("Enter");
  assert.equal(await focused(page), "editor-text");
  await page.keyboard.type("{");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+Space");
  const text = page.locator("#editor-text");
  const list = page.locator("#editor-suggestions");
  assert.equal(await list.isVisible(), true);
  assert.deepEqual((await labels(page)).slice(0, 3), ["type", "description", "enum"]);
  assert.match(await page.textContent("#editor-status"), /^\d+ suggestions\.$/);
  // The focus stays in the text, and names the option.
  const active = async () => page.textContent(`#${await text.getAttribute("aria-activedescendant")} span`);
  assert.equal(await active(), "type");
  await page.keyboard.press("ArrowUp");
  assert.notEqual(await active(), "type");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getAttribute('[aria-selected="true"]', "role"), "option");
  // Enter takes it, and its values follow at once.
  await page.keyboard.press("Enter");
  assert.equal(await written(page), '{\n  "type": ""');
  assert.deepEqual((await labels(page)).slice(0, 2), ["string", "number"]);
  await page.keyboard.type("ob");
  assert.deepEqual(await labels(page), ["object"]);
  await page.keyboard.press("Tab");
  assert.equal(await written(page), '{\n  "type": "object"');
  assert.equal(await list.isVisible(), false);
  assert.equal(await text.getAttribute("aria-activedescendant"), null);
  // Typing opens the list, too; Escape closes nothing but the list.
  await page.keyboard.type(',\n"prop');
  assert.deepEqual((await labels(page))[0], "properties");
  await page.keyboard.press("Escape");
  assert.equal(await list.isVisible(), false);
  assert.equal(await isOpen(page), true);
  await page.keyboard.press("Control+Space");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await page.keyboard.type('"id": {}');
  await page.keyboard.press("Control+End");
  await page.keyboard.type(',\n"req');
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+Space");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Enter");
  await page.keyboard.type("}");
  assert.equal(await written(page), '{\n  "type": "object",\n  "properties": {\n    "id": {}\n  },\n  "required": ["id"]\n}');
  await summaryIs(page, "No faults.");
  // No place where nothing can stand is silent.
  await page.keyboard.press("Control+Space");
  assert.equal(await page.textContent("#editor-status"), "No suggestions here.");
  // Tab leaves the text both ways, and Done is reached.
  await page.keyboard.press("Shift+Tab");
  assert.equal(await focused(page), "editor-format");
  await page.keyboard.press("Tab");
  assert.equal(await focused(page), "editor-text");
  for (let presses = 0; (await focused(page)) !== "editor-done"; presses += 1) {
    assert.ok(presses < 10, "Done cannot be reached");
    await page.keyboard.press("Tab");
  }
  await page.keyboard.press("Enter");
  assert.equal(await isOpen(page), false);
  assert.match(await page.inputValue("#schema"), /^\{\n  "type": "object"/);
  // The focus is where it was.
  assert.equal(await page.evaluate(() => document.activeElement.dataset.edit), "schema");
  await check();
});

test("a list beside the caret stays inside the editor", async () => {
  for (const options of [{}, { viewport: { width: 360, height: 640 } }]) {
    const { page, check } = await openEditor(`{\n${'  "a": 1,\n'.repeat(100)}`, options);
    const inside = async () => {
      await page.keyboard.press("Control+Space");
      await page.waitForSelector("#editor-suggestions li");
      return page.evaluate(() => {
        const [list, text] = ["#editor-suggestions", ".editor-text"].map((its) => document.querySelector(its).getBoundingClientRect());
        return list.top >= text.top && list.bottom <= text.bottom && list.left >= text.left && list.right <= text.right && list.height >= 80;
      });
    };
    for (const keys of [["Control+End"], ["Control+Home", "ArrowDown", "ArrowDown"]]) {
      for (const key of keys) await page.keyboard.press(key);
      assert.equal(await inside(), true, keys.join());
      await page.keyboard.press("Escape");
    }
    await page.keyboard.press("Control+End");
    await page.keyboard.type(`"description": "${" ".repeat(150)}", `);
    assert.equal(await inside(), true, "far to the right");
    await check();
  }
});

test("an option can be clicked", async () => {
  const { page, check } = await openEditor('[{"name": "f", }]', {}, "tools");
  await page.keyboard.press("Control+End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.type('"par');
  await page.click("#suggestion-0");
  assert.equal(await written(page), '[{"name": "f", "parameters": {}}]');
  assert.equal(await focused(page), "editor-text");
  await page.keyboard.type('"patternP');
  assert.deepEqual(await labels(page), ["patternProperties"]);
  await check();
});

test("lines: Enter, brackets, indentation, and Ctrl+Z", async () => {
  const { page, check } = await openEditor("{}");
  // What stood in the field before cannot be undone away.
  await page.keyboard.press("Control+z");
  assert.equal(await written(page), "{}");
  await page.keyboard.press("Control+Home");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  assert.equal(await written(page), "{\n  \n}");
  assert.deepEqual(await caret(page), [2, 3]);
  await page.keyboard.type('"enum": [');
  await page.keyboard.press("Enter");
  await page.keyboard.type("1");
  await page.keyboard.press("Enter");
  await page.keyboard.type("]");
  const done = '{\n  "enum": [\n    1\n  ]\n}';
  assert.equal(await written(page), done);
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+BracketRight");
  assert.equal(await written(page), done.replace(/^/gm, "  "));
  await page.keyboard.press("Control+BracketLeft");
  assert.equal(await written(page), done);
  for (let presses = 0; (await written(page)) !== "{}"; presses += 1) {
    assert.ok(presses < 40, await written(page));
    await page.keyboard.press("Control+z");
  }
  for (let presses = 0; (await written(page)) !== done; presses += 1) {
    assert.ok(presses < 40, await written(page));
    await page.keyboard.press("Control+Shift+z");
  }
  await check();
});

test("Format keeps each literal, and only formats JSON", async () => {
  const source = '{"multipleOf":1.0e1, "enum": [0.10,"a  b"],"items":{}}';
  const { page, check } = await openEditor(source);
  await page.click("#editor-format");
  const formatted = '{\n  "multipleOf": 1.0e1,\n  "enum": [\n    0.10,\n    "a  b"\n  ],\n  "items": {}\n}';
  assert.equal(await written(page), formatted);
  await page.keyboard.press("Control+z");
  assert.equal(await written(page), source);
  await page.keyboard.press("Control+a");
  await page.keyboard.type("{1 2");
  await page.click("#editor-format");
  assert.equal(await written(page), "{1 2");
  assert.equal(await page.textContent("#editor-message"), "Only valid JSON can be formatted.");
  await check();
});

test("a schema from the records of the run", async () => {
  const { page, check } = await open(all);
  await edit(page, '{"not": {}}');
  // Without records it says why it does nothing.
  const infer = page.locator("#editor-infer");
  assert.equal(await infer.getAttribute("aria-disabled"), "true");
  assert.equal(await page.textContent("#editor-infer-hint"), "No records yet: run an extraction first.");
  await infer.focus();
  await page.keyboard.press("Enter");
  assert.equal(await written(page), '{"not": {}}');
  assert.equal(await page.textContent("#editor-message"), "No records yet: run an extraction first.");
  await page.keyboard.press("Escape");
  await page.check('input[value="none"]');

  const model = await ask(all, page);
  for (let n = 0; n < 8; n += 1) model.text(`{"n": ${n}, "kind": "${n % 2 ? "a" : "b"}", "seen": "2026-01-0${n + 1}"${n ? ', "w": 1.5' : ""}}\n`);
  model.text('{"broken": }\n');
  model.finish();
  await waitForEnd(page);
  await edit(page, "");
  assert.equal(await infer.getAttribute("aria-disabled"), "false");
  await infer.focus();
  await page.keyboard.press("Enter");
  const schema = {
    type: "object",
    properties: {
      n: { type: "integer" },
      kind: { type: "string", enum: ["b", "a"] },
      seen: { type: "string", format: "date" },
      w: { type: "number" },
    },
    required: ["n", "kind", "seen"],
  };
  assert.deepEqual(JSON.parse(await written(page)), schema);
  assert.equal(await page.textContent("#editor-message"), "What 8 records have in common. Undo takes it back. Not uniform: w: missing in 1 of 8.");
  await summaryIs(page, "No faults.");
  await page.keyboard.press("Control+Enter");
  assert.equal(await isOpen(page), false);

  // The run that follows is checked against it.
  const second = await ask(all, page);
  second.text('{"n": 1, "kind": "a", "seen": "2026-01-01"}\n{"n": "1", "kind": "a", "seen": "2026-01-01"}\n');
  second.finish();
  await waitForEnd(page);
  assert.equal(await page.textContent('[data-figure="records"]'), "1");
  assert.equal(await page.textContent('[data-figure="rejected"]'), "1");
  // After a reload the records are still there.
  await page.reload();
  await page.click('[data-edit="schema"]');
  assert.equal(await infer.getAttribute("aria-disabled"), "false");
  await check();
});

test("tools from the calls of the run", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page, { tools: '[{"name": "t"}]' });
  model.call(0, "t", '{"x": 1}');
  model.finish("tool_calls");
  await waitForEnd(page);
  await edit(page, "", "tools");
  assert.equal(await page.textContent("#editor-infer"), "From these calls");
  await page.click("#editor-infer");
  assert.deepEqual(JSON.parse(await written(page)), [
    { name: "t", parameters: { type: "object", properties: { x: { type: "integer" } }, required: ["x"] } },
  ]);
  // A schema of records has nothing to do with calls.
  await page.keyboard.press("Escape");
  await page.click("#editor-discard");
  await edit(page, "");
  assert.equal(await page.getAttribute("#editor-infer", "aria-disabled"), "true");
  await check();
});

test("a file, chosen or dropped", async () => {
  const { page, check } = await openEditor('{"not": {}}');
  const file = (name, content) => ({ name, mimeType: "application/json", buffer: Buffer.from(content) });
  const message = () => page.textContent("#editor-message");
  const says = (text) => until(page, (text) => document.querySelector("#editor-message").textContent === text, text);
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("#editor-open")]);
  await chooser.setFiles(file("a.json", '\ufeff{\r\n  "type": "string"\r\n}\r\n'));
  await says("a.json is open. Undo takes it back.");
  assert.equal(await written(page), '{\n  "type": "string"\n}\n');
  await page.keyboard.press("Control+z");
  assert.equal(await written(page), '{"not": {}}');
  // At the server's limit, and above it.
  const limit = 256 * 1024;
  await page.setInputFiles("#editor-file", file("limit.json", `{${" ".repeat(limit - 2)}}`));
  await says("limit.json is open. Undo takes it back.");
  await summaryIs(page, "No faults.");
  await page.setInputFiles("#editor-file", file("large.json", `{${" ".repeat(limit - 1)}}`));
  await says("large.json is too large: 257 KiB of at most 256 KiB.");
  assert.equal((await written(page)).length, limit);
  await page.keyboard.type("é");
  await summaryIs(page, "Too large: 257 KiB of at most 256 KiB.");
  await page.keyboard.press("Control+z");
  await page.setInputFiles("#editor-file", file("bytes.json", Buffer.from([0x22, 0xff, 0x22])));
  await says("bytes.json cannot be read: it is not UTF-8 text.");
  // A file with more lines than can be typed in a moment. Still, it can be taken back, and be there again.
  const before = await written(page);
  const lines = `{"enum": [\n${"  1,\n".repeat(20_000)}  2\n]}`;
  await page.setInputFiles("#editor-file", file("lines.json", lines));
  await says("lines.json is open. Undo takes it back.");
  assert.equal(await written(page), lines);
  await page.keyboard.press("Control+z");
  assert.equal(await written(page), before);
  await page.keyboard.press("Control+Shift+z");
  assert.equal(await written(page), lines);
  // Dropped: the page stays, and the file is in the editor.
  const drop = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(['{"title": "dropped"}'], "drop.json"));
    return transfer;
  });
  await page.dispatchEvent("#editor-text", "dragover", { dataTransfer: drop });
  assert.equal(await page.$eval("#editor", (dialog) => dialog.classList.contains("dropping")), true);
  await page.dispatchEvent("#editor-text", "drop", { dataTransfer: drop });
  await says("drop.json is open. Undo takes it back.");
  assert.equal(await written(page), '{"title": "dropped"}');
  assert.equal(await message(), "drop.json is open. Undo takes it back.");
  await check();
});

test("Cancel drops the draft, Esc asks before it does, Done fills the form", async () => {
  const { page, check } = await openEditor("{,}");
  await page.focus("#editor-text");
  await page.keyboard.press("Escape");
  assert.equal(await isOpen(page), false, "no changes");
  await edit(page, "{,}");
  await page.keyboard.type(" ");
  await page.click("#editor-cancel");
  assert.equal(await isOpen(page), false);
  assert.equal(await page.inputValue("#schema"), "{,}");

  await edit(page, "{,}");
  await page.keyboard.type(" ");
  await page.keyboard.press("Escape");
  const question = page.locator("#editor-ask");
  assert.equal(await question.isVisible(), true);
  assert.equal(await focused(page), "editor-keep");
  // Again and again: a browser would close the dialog at the second Esc.
  for (let presses = 0; presses < 5; presses += 1) await page.keyboard.press("Escape");
  assert.equal(await isOpen(page), true);
  assert.equal(await question.isVisible(), false);
  assert.equal(await focused(page), "editor-text");
  assert.equal(await written(page), "{,} ");
  // Nor is the draft lost where the browser closes it all the same.
  await page.$eval("#editor", (dialog) => dialog.close());
  await until(page, () => document.querySelector("#editor").open && !document.querySelector("#editor-ask").hidden);
  assert.equal(await written(page), "{,} ");
  await page.click("#editor-discard");
  assert.equal(await isOpen(page), false);
  assert.equal(await page.inputValue("#schema"), "{,}");

  // A file that was not chosen in the end is no reason to leave, and a reload asks.
  await edit(page, "{,}");
  await page.dispatchEvent("#editor-file", "cancel", { bubbles: true });
  assert.equal(await isOpen(page), true);
  const mayLeave = () => page.evaluate(() => dispatchEvent(new Event("beforeunload", { cancelable: true })));
  assert.equal(await mayLeave(), true);
  await page.keyboard.type(" ");
  assert.equal(await mayLeave(), false);
  await page.click("#editor-cancel");
  assert.equal(await mayLeave(), true);

  // The form hears of it: what it said of the old text goes.
  await page.click("#extract");
  assert.equal(await page.locator("#schema-error").isVisible(), true);
  await page.evaluate(() => {
    window.heard = [];
    for (const type of ["input", "change"]) document.querySelector("#form").addEventListener(type, ({ target }) => window.heard.push(`${type} ${target.id}`));
  });
  await page.click('[data-edit="schema"]');
  await page.keyboard.press("Control+a");
  await page.keyboard.type("{}");
  await page.evaluate(() => (window.heard = []));
  await page.keyboard.press("Control+Enter");
  assert.deepEqual(await page.evaluate(() => window.heard), ["input schema", "change schema"]);
  assert.equal(await page.inputValue("#schema"), "{}");
  assert.equal(await page.locator("#schema-error").isVisible(), false);
  await check();
});

test("line numbers stay beside their lines", async () => {
  const { page, check } = await openEditor(Array.from({ length: 3000 }, (_, at) => `"line ${at + 1}"`).join("\n"));
  const aligned = () =>
    page.evaluate(() => {
      const area = document.querySelector("#editor-text");
      const { paddingTop, lineHeight } = getComputedStyle(area);
      const start = area.getBoundingClientRect().top + parseFloat(paddingTop) - area.scrollTop;
      const rows = [...document.querySelectorAll("#editor-gutter > div > div")];
      const off = rows.map((row) => Math.abs(row.getBoundingClientRect().top - start - (Number(row.firstChild.textContent) - 1) * parseFloat(lineHeight)));
      return { first: Number(rows[0].firstChild.textContent), count: rows.length, off: Math.max(...off) };
    });
  for (const top of [0, 7, 1234.5, 30_000, 1e9]) {
    await page.$eval("#editor-text", (area, top) => (area.scrollTop = top), top);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const { first, count, off } = await aligned();
    assert.ok(off < 1, `${off} pixels at ${top}`);
    assert.ok(count > 20 && count < 80, `${count} elements`);
    if (top === 30_000) assert.ok(first > 1400, `${first}`);
  }
  // The caret's place, and a fault out of sight.
  await page.keyboard.press("Control+Home");
  await until(page, () => document.querySelector("#editor-place").textContent === "Line 1, column 1");
  await page.keyboard.press("Control+End");
  await until(page, () => document.querySelector("#editor-place").textContent === "Line 3,000, column 12");
  await page.keyboard.press("F8");
  assert.deepEqual(await caret(page), [2, 1]);
  assert.equal(await page.$eval("#editor-text", (area) => area.scrollTop < 100), true);
  await check();
});

test("a hostile schema stays text, and typing in it stays quick", async () => {
  const hostile = `{"description": "</script></textarea><img src=x onerror=alert(1)>", "$comment": "${"</script> ".repeat(20_000)}", }`;
  assert.ok(hostile.length > 200_000);
  const { page, check } = await openEditor(hostile);
  await summaryIs(page, "1 fault.");
  assert.equal(await page.locator("img, textarea textarea").count(), 0);
  for (const [key, back] of [["Control+End", 1], ["Control+Home", -1]]) {
    await page.keyboard.press(key);
    await page.keyboard.press(back > 0 ? "ArrowLeft" : "ArrowRight");
    const times = await page.evaluate(() => {
      // From the key until the page is drawn: the text, the list, the line numbers.
      const area = document.querySelector("#editor-text");
      let start;
      window.times = [];
      area.onkeydown = () => (start = performance.now());
      area.oninput = () => requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - start)));
    });
    assert.equal(times, undefined);
    for (const [at, letter] of [...'"minLe'].entries()) {
      await page.keyboard.type(letter);
      await until(page, (count) => window.times.length === count, at + 1);
    }
    assert.deepEqual(await labels(page), ["minLength"]);
    const all = (await page.evaluate(() => window.times)).sort((a, b) => a - b);
    const median = all[all.length >> 1];
    console.log(`# a key in a line of 200 KB at ${key}: median ${median.toFixed(0)} ms, at most ${all.at(-1).toFixed(0)} ms`);
    assert.ok(median < 100, `${all.map(Math.round)} ms`);
    await page.keyboard.press("Escape");
  }
  await check();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing in the editor, ${colorScheme}`, async () => {
    const { page, check } = await openEditor('{\n  "minLength": -1,\n  "type": "object"\n}', { colorScheme, bypassCSP: true });
    const findings = async () => {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => window.axe.run("#editor"));
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`);
    };
    await summaryIs(page, "1 fault.");
    await page.keyboard.press("F8");
    assert.deepEqual(await findings(), [], "with a fault");
    await page.keyboard.press("Control+End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.type(', "');
    await page.waitForSelector("#editor-suggestions li");
    assert.deepEqual(await findings(), [], "with suggestions");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    assert.deepEqual(await findings(), [], "with a question");
    await check();
  });
}

test("the editor fills a phone, and the form is wide on a wide screen", async () => {
  const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };
  const { page, check } = await openEditor('{\n  "minLength": -1\n}', phone);
  await summaryIs(page, "1 fault.");
  const box = await page.$eval("#editor", (dialog) => {
    const { left, top, width, height } = dialog.getBoundingClientRect();
    return { left, top, width, height };
  });
  assert.deepEqual(box, { left: 0, top: 0, width: 360, height: 740 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
  const outside = await page.$$eval("#editor :is(button, textarea, p, li):not([hidden])", (all) =>
    all.filter((its) => its.getBoundingClientRect().right > 360 || its.getBoundingClientRect().bottom > 740).map(({ id }) => id),
  );
  assert.deepEqual(outside, []);
  assert.ok((await page.$eval("#editor-text", (area) => area.clientHeight)) > 300);
  await check();

  for (const [width, least, most] of [[1199, 240, 280], [1200, 350, 400], [1800, 350, 400]]) {
    const { page, check } = await open(all, { viewport: { width, height: 900 } });
    const form = await page.$eval("#form", (form) => form.getBoundingClientRect().width);
    assert.ok(form >= least && form <= most, `${form} of ${width}`);
    await page.check('input[value="schema"]');
    const height = () => page.$eval("#schema", (area) => area.offsetHeight);
    const empty = await height();
    await page.fill("#schema", "{\n".repeat(20));
    assert.ok((await height()) > empty + 100, "a text area grows with its text");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
    await check();
  }
});
