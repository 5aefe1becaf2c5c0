// Pictures of the page: the recorded model, half way through a response; and what people do with a run. The argument is the
// folder to write them to.

import { statSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";
import { Model } from "./model.mjs";
import { ask, open, startProgram, waitForEnd } from "./setup.mjs";

const folder = process.argv[2];
const model = await Model.start();
const { program, url } = await startProgram(model);
// Also after an error: whoever waits for its output would wait for ever.
process.on("exit", () => program.kill());
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });

const wide = { viewport: { width: 1200, height: 850 } };
const phone = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 1.5, isMobile: true, hasTouch: true };

// Until this many records are complete, and the next one is being written.
async function halfWay(page, recording, count, open, length) {
  await page.selectOption("#recording", recording);
  await page.fill("#delay", "50");
  await page.click("#extract");
  await page.waitForFunction(
    ([count, open, length]) =>
      document.querySelectorAll(':is(tr, .card)[data-state="complete"]').length >= count &&
      (document.querySelector(open)?.textContent.length ?? 0) > length,
    [count, open, length],
    { timeout: 60_000, polling: "raf" },
  );
}

async function picture(name, options, recording, count, open_, length) {
  const { page, check } = await open({ browser, url }, options);
  await halfWay(page, recording, count, open_, length);
  await take(page, name);
  await check();
}

async function take(page, name) {
  const file = path.join(folder, name);
  // `caret: "initial"`: hiding it would add a style, which the page's policy forbids.
  await page.screenshot({ path: file, caret: "initial" });
  const size = statSync(file).size;
  console.log(`${name}: ${size} bytes`);
  if (size > 170_000) process.exitCode = 1;
}

const INVOICES = [
  '{"supplier": "Northwind Traders", "number": "NW-2041", "date": "2026-03-04", "total": 1249.50}',
  '{"supplier": "Kessler & Sons", "number": "88-17", "date": "2026-03-05", "total": 310.00,}',
  '{"supplier": "Blue Ridge Paper", "number": "BR 5520", "total": "86,40"}',
  '{"supplier": "Hanami Flowers", "number": "2026/118", "date": "2026-03-09", "total": 54.90}',
  '{"supplier": "Ostrava Steel", "number": "OS-7731", "date": "2026-03-11", "total": 9980.00}',
];
const SCHEMA = {
  type: "object",
  required: ["supplier", "number", "date", "total"],
  properties: { supplier: { type: "string" }, number: { type: "string" }, date: { format: "date" }, total: { type: "number" } },
};

// A run of the model under control that extracts invoices.
async function invoices(page, prompt, lines) {
  await page.check("#repair");
  const response = await ask({ model }, page, { prompt });
  response.text(lines.map((line) => `${line}\n`).join(""));
  response.finish();
  await waitForEnd(page);
}

async function invoicePage(options) {
  const opened = await open({ browser, url }, options);
  await opened.page.selectOption("#provider", "openai-chat");
  await opened.page.check('input[value="schema"]');
  await opened.page.fill("#schema", JSON.stringify(SCHEMA, null, 2));
  return opened;
}

const growing = "td.growing";
await picture("page.png", { viewport: { width: 1200, height: 1040 }, colorScheme: "light" }, "mixed", 4, growing, 55);
await picture("page-dark.png", { ...wide, colorScheme: "dark" }, "mixed", 6, growing, 30);
await picture("page-calls.png", { ...wide, colorScheme: "light" }, "tool-calls-in-text", 2, '.card[data-state="open"] pre', 25);
await picture("page-phone.png", { ...phone, colorScheme: "light" }, "mixed", 2, growing, 30);

{
  const { page, check } = await invoicePage({ ...wide, colorScheme: "light" });
  await invoices(page, "List the invoices in these e-mails.", INVOICES);
  await page.click('tbody td:text-is("Kessler & Sons")');
  await page.click("#rejected summary");
  await take(page, "page-record.png");
  await page.click('[data-edit="schema"]');
  const text = page.locator("#editor-text");
  await text.fill(JSON.stringify({ ...SCHEMA, requird: [] }, null, 2));
  await page.waitForSelector("#editor-faults li");
  await text.press("Control+Home");
  await text.press("ArrowDown");
  await text.press("End");
  await text.press("Enter");
  await text.pressSequentially('"ad');
  await page.waitForSelector("#editor-suggestions li");
  await take(page, "page-editor.png");
  await text.press("Escape");
  await page.click("#editor-cancel");
  await check();
}
{
  const { page, check } = await invoicePage({ ...wide, colorScheme: "dark" });
  await invoices(page, "List the invoices in these e-mails.", INVOICES);
  const others = [INVOICES[0].replace("1249.50", "1294.50"), ...INVOICES.slice(1, 2), INVOICES[2].replace('"86,40"', '86.40, "date": "2026-03-06"'), INVOICES[4]];
  await invoices(page, "List the invoices. Totals are numbers, dates ISO 8601.", others);
  await page.click('[data-opens="history"]');
  await page.waitForSelector("#history .entries > li >> nth=1");
  for (const box of await page.$$('#history .entries input[type="checkbox"]')) await box.check();
  await page.click("#history button:text-is('Compare')");
  await page.waitForSelector("#compare[open] table");
  await take(page, "page-compare.png");
  await check();
}
{
  const { page, check } = await invoicePage({ ...phone, colorScheme: "light" });
  await invoices(page, "List the invoices in these e-mails.", INVOICES);
  await page.click('[data-opens="code"]');
  await page.click('[role="tab"]:text-is("tokenline extract")');
  await take(page, "page-code-phone.png");
  await check();
}

await browser.close();
model.stop();
process.exit();
