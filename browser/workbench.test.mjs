// What people do with a run: hold the model to a schema, follow a record to its text, sort, filter, take it home.

import assert from "node:assert/strict";
import { test } from "node:test";
import { entries, openHistory, waitForEntries } from "./runs.mjs";
import { ask, download, open, ready, rows, setup, startProgram, until, waitForEnd, waitForStatus } from "./setup.mjs";

const all = setup();
const SCHEMA = '{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"total":{"type":"number"}}}';

async function withSchema(page, send = "none", schema = SCHEMA) {
  await page.selectOption("#provider", "openai-chat");
  await page.check('input[value="schema"]');
  await page.fill("#schema", schema);
  await page.selectOption("#send-schema", send);
}

test("the schema goes to the model, or the page says that it does not", async () => {
  const { page, check } = await open(all);
  for (const [send, note, isSent] of [
    ["none", "The model is not told: the schema only checks its records.", () => false],
    ["prompt", "The model is asked for JSON Lines that match it.", ({ messages }) => messages[0].role === "system" && messages[0].content.endsWith(SCHEMA)],
    ["response_format", 'The provider is asked to hold the model to it. The response is one object, {"items": [...]}; each item is a record.', ({ response_format: format }) => format?.json_schema.schema.properties.items.items.required[0] === "name"],
  ]) {
    await withSchema(page, send);
    assert.equal(await page.textContent("#send-schema-note"), note);
    const model = await ask(all, page);
    assert.equal(isSent(model.request.body), send !== "none", send);
    assert.equal(JSON.stringify(model.request.body).includes("total"), send !== "none", send);
    model.text(send === "response_format" ? '{"items": [{"name": "a"}, {"name": "b"}]}' : '{"name": "a"}\n{"name": "b"}\n');
    model.finish();
    await waitForStatus(page, "complete");
    assert.deepEqual((await rows(page)).map((row) => row[2]), ["a", "b"]);
  }
  // A built-in prompt describes its records.
  await page.selectOption("#prompt-id", "extract-definitions");
  assert.equal(await page.inputValue("#send-schema"), "response_format", "a schema of one's own stays, and is sent");
  await page.fill("#schema", "");
  await page.selectOption("#prompt-id", "");
  await page.selectOption("#prompt-id", "extract-definitions");
  assert.equal(await page.inputValue("#send-schema"), "none");
  assert.equal(await page.textContent("#send-schema-note"), "The prompt describes the records.");
  await check();
});

test("parameters of the request are sent as they were written", async () => {
  const { page, check } = await open(all);
  await page.selectOption("#provider", "openai-chat");
  await page.click(".more summary");
  await page.fill("#temperature", "0.25");
  await page.fill("#seed", "9007199254740993");
  await page.fill("#set", '{"reasoning_effort": "low", "top_k": 40}');
  const model = await ask(all, page);
  const { temperature, reasoning_effort: effort, top_k: topK } = model.request.body;
  assert.deepEqual({ temperature, effort, topK }, { temperature: 0.25, effort: "low", topK: 40 });
  assert.match(model.request.text, /"seed":9007199254740993[,}]/);
  model.finish();
  await waitForEnd(page);
  for (const [name, value, message] of [
    ["seed", "-1", "Enter a whole number from zero, or nothing."],
    ["temperature", "-1", "Enter a number from zero, or nothing."],
    ["set", "[1]", "Enter a JSON object."],
  ]) {
    const before = await page.inputValue(`#${name}`);
    await page.fill(`#${name}`, value);
    await page.click("#extract");
    assert.equal(await page.textContent(`#${name}-error`), message);
    assert.equal(await page.evaluate(() => document.activeElement.id), name);
    await page.fill(`#${name}`, before);
  }
  await check();
});

test("the server's models are in the list", async () => {
  const { page, check } = await open(all, { mayFail: [/400/] });
  await page.selectOption("#provider", "openai-chat");
  await page.focus("#model");
  await until(page, () => document.querySelectorAll("#models option").length === 2);
  assert.deepEqual(await page.$$eval("#models option", (all) => all.map((option) => option.value)), ["test", "test-large"]);
  assert.equal(await page.textContent("#models-note"), "2 models on the server.");
  await page.selectOption("#provider", "anthropic");
  await page.focus("#provider");
  await page.focus("#model");
  await until(page, () => document.querySelector("#models-note").textContent.includes("ANTHROPIC_API_KEY"));
  assert.equal(await page.locator("#models option").count(), 0);
  await check();
});

test("a server and a key are on the page only if the program was started for that", async () => {
  const { page, check } = await open(all);
  await page.selectOption("#provider", "openai-chat");
  await page.click(".more summary");
  assert.equal(await page.locator("#base-url").isVisible(), false);
  await check();

  const { program, url } = await startProgram(all.model, ["--allow-base-url"]);
  try {
    const { page, check } = await open({ ...all, url });
    await page.selectOption("#provider", "openai-chat");
    await page.click(".more summary");
    await page.fill("#base-url", `${all.model.url}/other`);
    await page.fill("#api-key", "sk-typed-into-the-page");
    const model = await ask({ ...all, url }, page);
    assert.equal(model.request.headers.authorization, "Bearer sk-typed-into-the-page");
    assert.equal(model.request.url, "/other/v1/chat/completions");
    model.text('{"n": 1}\n');
    model.finish();
    await waitForStatus(page, "complete");
    await page.reload();
    await ready(page);
    assert.equal(await page.inputValue("#api-key"), "");
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    assert.ok(!stored.includes("sk-typed"), stored);
    await check();
  } finally {
    program.kill();
  }
});

test("a record leads to its JSON and its place in the response, and back", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('Zuerst \u00dcberschriften \u{1f600}:\n[{"name": "a", "n": 1.50}, {"name": "\u00e9"}]\n```json\n{"name":\n  "c"}\n```\n');
  model.finish();
  await waitForStatus(page, "complete");
  const shown = () => page.evaluate(() => [...(CSS.highlights.get("shown") ?? [])].map((range) => range.toString()));
  await page.click("tbody tr:nth-child(2) td");
  assert.equal(await page.textContent("#detail h2"), "Record 2");
  assert.equal(await page.textContent("#detail pre"), '{\n  "name": "\u00e9"\n}');
  assert.match(await page.textContent("#detail .place"), /^Line 2, bytes 55 to 69 of the response$/);
  assert.deepEqual(await shown(), ['{"name": "\u00e9"}']);
  // Number literals are those of the model; a record of two lines is marked in both.
  await page.click("tbody tr:nth-child(1) td");
  assert.ok((await page.textContent("#detail pre")).includes("1.50"));
  await page.click("tbody tr:nth-child(3) td");
  assert.deepEqual(await shown(), ['{"name":', '  "c"}']);
  assert.equal(await page.locator(".stream .shown").count(), 2);
  // By keyboard: the number of a row is a button, Escape closes and gives the focus back.
  const button = page.locator("tbody tr:nth-child(2) .row-number");
  await button.focus();
  await page.keyboard.press("Enter");
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  assert.equal(await page.evaluate(() => document.activeElement.id), "detail");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#detail").isVisible(), false);
  assert.equal(await button.evaluate((node) => node === document.activeElement), true);
  // What was clipped away is said.
  const second = await ask(all, page);
  second.text('{"n": 1}\n');
  second.text(`${"prose ".repeat(20)}\n`.repeat(700));
  second.finish();
  await waitForEnd(page);
  await page.click("tbody tr:nth-child(1) td");
  assert.match(await page.textContent("#detail .place"), /no longer in the text below$/);
  await check();
});

test("each violation of a reject is underlined in its text", async () => {
  const { page, check } = await open(all);
  await withSchema(page);
  const model = await ask(all, page);
  model.text('{"total": "12 \u{1f600}", "x": 1}\n{"name": "<b>", \u00e9}\n');
  model.finish();
  await waitForStatus(page, "complete");
  const entries = page.locator("#rejected .lane > li");
  const marks = (at) => entries.nth(at).locator("mark").evaluateAll((all) => all.map((mark) => [mark.textContent, mark.title]));
  assert.deepEqual(await marks(1), [["{", "missing required member `name`"], ['"12 \u{1f600}"', "expected type number, found a string"]]);
  assert.deepEqual((await marks(0)).map(([text]) => text), ["\u00e9"]);
  assert.equal(await entries.nth(1).locator("pre").textContent(), '{"total": "12 \u{1f600}", "x": 1}');
  assert.equal(await entries.nth(1).locator(".further li").textContent(), "expected type number, found a string (at /total)");
  await entries.nth(1).locator("summary").click();
  await entries.nth(1).locator(".show").click();
  assert.equal(await page.locator(".stream .shown").textContent(), '{"total": "12 \u{1f600}", "x": 1}');
  await check();
});

test("records are sorted and filtered, also while they arrive", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const names = ["delta", "Alpha", "charlie", "bravo"];
  model.text(names.map((name, n) => `{"name": "${name}", "n": ${10 - n}${n === 2 ? "" : `, "k": "x\\u00e9${n}"`}}\n`).join(""));
  await until(page, () => document.querySelectorAll('tr[data-state="complete"]').length === 4);
  const column = async (at) => {
    // The page draws in frames.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return (await rows(page)).map((row) => row[at]);
  };
  const sort = (name) => page.click(`thead button:text-is("${name}")`);
  await sort("n");
  assert.deepEqual(await column(3), ["7", "8", "9", "10"]);
  assert.equal(await page.getAttribute("thead th:nth-child(3)", "aria-sort"), "ascending");
  await sort("n");
  assert.deepEqual(await column(3), ["10", "9", "8", "7"]);
  model.text('{"name": "echo", "n": 8.5}\n{"name": "fox');
  await until(page, () => document.querySelectorAll("tbody tr").length === 5);
  assert.deepEqual(await column(3), ["10", "9", "8.5", "8", "7"]);
  await sort("n");
  await until(page, () => document.querySelectorAll("tbody tr").length === 6);
  assert.deepEqual(await column(2), [...names, "echo", "fox"]);
  await page.fill("#filter", "X\u00c9 A");
  await until(page, () => document.querySelectorAll("tbody tr").length === 3);
  assert.deepEqual(await column(2), ["delta", "Alpha", "bravo"]);
  assert.equal(await page.textContent("#records .note"), "3 of 5 records. The downloads have all of them.");
  await page.fill("#filter", "nothing like it");
  await until(page, () => document.querySelectorAll("tbody tr").length === 0);
  assert.equal(await page.textContent("#records .empty"), "No record matches.");
  model.text('trot"}\n');
  model.finish();
  await waitForStatus(page, "complete");
  await page.fill("#filter", "");
  await until(page, () => document.querySelectorAll("tbody tr").length === 6);
  // Sorted by a member that one of them lacks: that one is last, both ways.
  await sort("k");
  assert.deepEqual((await column(2)).slice(0, 3), ["delta", "Alpha", "bravo"]);
  await sort("k");
  assert.deepEqual((await column(2)).slice(0, 3), ["bravo", "Alpha", "delta"]);
  await check();
});

test("too many records to search are searched as far as they are kept", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  // More than 10 MB: the table keeps the latest, and of a long one its beginning.
  await model.stream(Array.from({ length: 110 }, (_, n) => `{"n": ${n}, "t": "${"x".repeat(100_000)}"}\n`));
  await model.stream(Array.from({ length: 300 }, (_, n) => `{"n": ${1000 + n}, "t": "last"}\n`));
  await model.stream([`{"t": "${"y".repeat(100_000)}", "n": 5000}\n`]);
  model.finish();
  await waitForStatus(page, "complete", 60_000);
  await page.click('thead button:text-is("n")');
  await until(page, () => document.querySelector("#records .note").textContent.includes("Only the latest 250"));
  const table = await rows(page);
  assert.equal(table[0][2], "1051");
  assert.deepEqual([table.at(-1)[1], table.at(-1)[2]], ["411", "5000"], "one that cannot be sorted is last, and shown whole");
  await page.fill("#filter", "yyyy");
  await until(page, () => document.querySelectorAll("tbody tr").length === 1);
  await page.click("tbody tr td");
  assert.match(await page.textContent("#detail pre"), /\(100,020 characters\)$/);
  await check();
});

test("the CSV is safe in a spreadsheet", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('{"name": "=1+1", "n": -1.50}\n{"name": "a \\"b\\", c\\n", "tags": ["x", 1.0], "@k": "+x"}\n{"n": null, "name": "\\tx"}\n');
  model.finish();
  await waitForStatus(page, "complete");
  const { name, text } = await download(page, "#download-csv");
  assert.equal(name, "tokenline-test.csv");
  assert.equal(text, `\ufeffname,n,tags,'@k\r\n'=1+1,-1.50,,\r\n"a ""b"", c\n",,"[""x"", 1.0]",'+x\r\n'\tx,,,\r\n`);
  await check();
});

test("a CSV of many members and many rows is bounded", async () => {
  const { page, check } = await open(all);
  const [parts, length, last] = await page.evaluate(async () => {
    const { toCsv } = await import("/assets/csv.js");
    const lines = Array.from({ length: 8000 }, (_, row) => `{${Array.from({ length: 8 }, (_, at) => `"k${row}-${at}":"=${at}"`).join(",")}}`);
    const csv = toCsv(lines);
    return [csv.length, csv.reduce((sum, part) => sum + part.length, 0), csv.at(-1).trimEnd().split("\r\n").at(-1)];
  });
  assert.equal(parts, 9);
  assert.ok(length < 8_000_000, `${length}`);
  assert.ok(last.endsWith(`"{""k7999-0"":""=0"",""k7999-1"":""=1"",""k7999-2"":""=2"",""k7999-3"":""=3"",""k7999-4"":""=4"",""k7999-5"":""=5"",""k7999-6"":""=6"",""k7999-7"":""=7""}"`), last.slice(-200));
  await check();
});

test("a place is found beside control characters, long lines, and in a block that begins again", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const shown = () => page.evaluate(() => [...(CSS.highlights.get("shown") ?? [])].map((range) => range.toString()));
  model.text(`${"\u0001".repeat(20)}\n{"n": 1}\n[${"\u{1f600}".repeat(3000)}] {"n": 0}\n{"n": 2}\n`);
  model.finish();
  await waitForStatus(page, "complete");
  for (const [row, text] of [[1, '{"n": 1}'], [2, '{"n": 0}'], [3, '{"n": 2}']]) {
    await page.click(`tbody tr:nth-child(${row}) td`);
    assert.deepEqual(await shown(), [text]);
  }
  // A selection elsewhere does not stand in the way.
  await page.evaluate(() => getSelection().selectAllChildren(document.querySelector(".stream")));
  await page.click("tbody tr:nth-child(1) td");
  assert.equal(await page.textContent("#detail h2"), "Record 1");
  // Rows that are drawn anew keep the focus, and the detail closes to its row.
  await page.fill("#filter", "n");
  await until(page, () => document.querySelector("#records .note").textContent.startsWith("3 of 3"));
  await page.locator("tbody tr:nth-child(2) .row-number").press("Enter");
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "2");
  await check();
});

test("violations of a call's arguments are underlined", async () => {
  const { page, check } = await open(all);
  const tools = '[{"name": "ls", "parameters": {"properties": {"path": {"type": "string"}}}}]';
  const model = await ask(all, page, { tools, callFormat: "auto" });
  model.text('<tool_call>{"name": "ls", "arguments": {"path": 7}}</tool_call>\n');
  model.call(0, "ls", '{"path": 8}');
  model.finish("tool_calls");
  await waitForEnd(page);
  const marks = await page.$$eval("#rejected mark", (all) => all.map((mark) => mark.textContent));
  assert.deepEqual(marks.sort(), ["7", "8"]);
  await check();
});

test("a file that is dropped on the page is read", async () => {
  const { page, check } = await open(all);
  const drop = async (name, text) => {
    const data = await page.evaluateHandle(([name, text]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], name));
      return transfer;
    }, [name, text]);
    await page.dispatchEvent("body", "dragover", { dataTransfer: data });
    assert.equal(await page.evaluate(() => document.body.classList.contains("takes-file")), true);
    await page.dispatchEvent("body", "drop", { dataTransfer: data });
    await page.waitForSelector('#status:not([data-status="idle"])');
    await waitForEnd(page);
  };
  await drop("saved.txt", 'Here:\n{"a": 1}\n{"a": 2}\n{"a": }\n');
  assert.deepEqual((await rows(page)).map((row) => row[2]), ["1", "2"]);
  assert.equal(await page.locator("#rejected .lane > li").count(), 1);
  assert.equal(await page.textContent("#file-name"), "saved.txt, 32 bytes");
  const event = JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: '{"b": 3}\n' } });
  await drop("saved.sse", `event: message_start\ndata: {"type":"message_start","message":{"role":"assistant","content":[]}}\n\nevent: content_block_delta\ndata: ${event}\n\n`);
  assert.deepEqual((await rows(page)).map((row) => row[2]), ["3"]);
  assert.equal(await page.getAttribute("#status", "data-status"), "incomplete");
  // Rules apply to it, too.
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"required": ["c"]}');
  await page.click("#extract");
  await until(page, () => [...document.querySelectorAll("#rejected .code")].some((code) => code.textContent === "schema_violation"));
  // Too large for the server.
  await page.setInputFiles("#file", { name: "large.txt", mimeType: "text/plain", buffer: Buffer.alloc(3_000_001, "x") });
  assert.match(await page.textContent("#file-error"), /more than 3 MB/);
  await page.click("#extract");
  assert.equal(await page.evaluate(() => document.activeElement.id), "file");
  await check();
});

test("rejects are asked for again and repaired, and the rows say so", async () => {
  const { page, check } = await open(all);
  await withSchema(page);
  await page.check("#repair");
  await page.selectOption("#reask", "1");
  const model = await ask(all, page);
  model.text('{"name": "a"}\n{"name": 2}\n{"name": "c",}\n');
  const again = await all.model.next();
  again.text('{"name": "b"}');
  again.finish();
  model.finish();
  await waitForStatus(page, "complete");
  const changes = await page.$$eval("tbody tr", (all) => all.map((row) => [row.children[1].textContent, row.querySelector(".change")?.title ?? ""]));
  assert.deepEqual(changes.sort(), [["a", ""], ["b", "asked again once"], ["c", "repaired: trailing_comma"]]);
  assert.match(await page.textContent("#message"), /asked again once/);
  assert.equal(await page.textContent('[data-figure="rejected"]'), "0");
  await page.click('tbody td:text-is("c")');
  assert.match(await page.textContent("#detail .place"), /repaired: trailing_comma$/);
  // So does the history.
  await openHistory(page);
  await waitForEntries(page, 1);
  assert.match((await entries(page))[0][1], /schema.*asked again once.*1 repaired/);
  await page.keyboard.press("Escape");
  // What still fails says why.
  const second = await ask(all, page);
  second.text('{"name": 2}\n');
  const failed = await all.model.next();
  failed.text('{"name": 3}');
  failed.finish();
  second.finish();
  await waitForStatus(page, "complete");
  assert.match(await page.textContent("#rejected .further"), /^Asked again: expected type string/);
  await check();
});

test("a response that repeats itself is stopped", async () => {
  const { page, check } = await open(all);
  await page.selectOption("#provider", "openai-chat");
  await page.check("#stop-on-repetition");
  const model = await ask(all, page);
  for (let n = 0; n < 60 && !model.response.destroyed; n += 1) model.text("I am not sure, let me think about it again.\n");
  await model.closed;
  await waitForEnd(page);
  assert.equal(await page.textContent("#status"), "Repeats itself");
  await check();
});

test("the error of a field is in sight", async () => {
  const { page, check } = await open(all, { viewport: { width: 1280, height: 620 } });
  await withSchema(page);
  await page.fill("#prompt", "Go.");
  await page.fill("#model", "test");
  await page.fill("#schema", '{"type": }');
  await page.click("#extract");
  const [error, actions] = await Promise.all(["#schema-error", ".actions"].map((name) => page.locator(name).boundingBox()));
  assert.ok(error.y >= 0 && error.y + error.height <= actions.y, JSON.stringify({ error, actions }));
  assert.ok(actions.y + actions.height <= 620);
  const downloads = await page.locator("#download").boundingBox();
  assert.ok(downloads.y + downloads.height < 620);
  await check();
});

test("the numbers of many records have room", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  for (let from = 0; from < 12_000; from += 500) {
    model.text(Array.from({ length: 500 }, (_, n) => `{"n": ${from + n}}\n`).join(""));
  }
  model.finish();
  await waitForStatus(page, "complete", 60_000);
  const edges = await page.$eval("tbody tr:last-child", (row) => [
    row.querySelector(".row-number").getBoundingClientRect().right,
    row.children[1].getBoundingClientRect().left,
  ]);
  assert.ok(edges[0] <= edges[1], `${edges}`);
  assert.equal(await page.textContent("tbody tr:last-child .row-number"), "12,000");
  await check();
});

test("a run without records says so, and one that fell short is not green", async () => {
  const { page, check } = await open(all);
  assert.match(await page.textContent("#records .empty"), /^Press Extract/);
  const green = await page.evaluate(() => getComputedStyle(document.querySelector("#extract")).backgroundColor);
  const dot = () => page.evaluate(() => getComputedStyle(document.querySelector("#status"), "::before").backgroundColor);
  for (const [end, status, isGreen] of [
    [(model) => model.finish("stop"), "Complete", true],
    [(model) => model.finish("length"), "Token limit", false],
    [(model) => model.finish("content_filter"), "Filtered", false],
    [(model) => (model.delta({ refusal: "I cannot do that." }), model.finish("stop")), "Refused", false],
  ]) {
    const model = await ask(all, page);
    assert.equal(await page.textContent("#records .empty"), "No record yet.");
    model.text("No records here.\n");
    end(model);
    await waitForEnd(page);
    assert.equal(await page.textContent("#status"), status);
    assert.equal((await dot()) === green, isGreen, status);
    assert.equal(await page.textContent("#records .empty"), "The response has no records.");
  }
  await check();
});

test("the speed is in tokens only if the provider counts them", async () => {
  const { page, check } = await open(all);
  const run = async (usage) => {
    const model = await ask(all, page);
    for (let n = 0; n < 5; n += 1) {
      model.text(`{"n": ${n}}\n`);
      await page.waitForTimeout(60);
    }
    assert.equal(await page.textContent('[data-figure="tokenRateName"]'), "Pieces/s");
    if (usage) model.usage({ prompt_tokens: 10, completion_tokens: 5000 });
    model.finish();
    await waitForStatus(page, "complete");
    return [await page.textContent('[data-figure="tokenRateName"]'), Number((await page.textContent('[data-figure="tokenRate"]')).replace(",", ""))];
  };
  const [pieces, slow] = await run(false);
  const [tokens, fast] = await run(true);
  assert.deepEqual([pieces, tokens], ["Pieces/s", "Tokens/s"]);
  assert.ok(slow < 50 && fast > 1000, `${slow} ${fast}`);
  await check();
});

test("places in the wire are told from places in the text, and images are not dropped in silence", async () => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  model.text('{"a": }\n');
  model.delta({ images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }] });
  model.response.write("data: {oops\n\n");
  model.finish();
  await waitForEnd(page);
  const places = await page.$$eval("#rejected .place", (all) => all.map((place) => place.textContent));
  assert.equal(places.filter((place) => /^wire \d+:\d+$/.test(place)).length, 1, `${places}`);
  assert.equal(places.filter((place) => /^\d+:\d+$/.test(place)).length, 1, `${places}`);
  assert.equal(await page.textContent("#status"), "Parts not shown");
  assert.match(await page.textContent("#message"), /not shown: choices\[\]\.delta\.images \(1\)/);
  await check();
});

test("prompts have titles that people understand", async () => {
  const { page, check } = await open(all);
  const titles = await page.$$eval("#prompt-id option", (all) => all.map((option) => option.textContent));
  assert.ok(titles.includes("Extract a knowledge graph") && !titles.some((title) => /agent kg/i.test(title)), `${titles}`);
  await check();
});
