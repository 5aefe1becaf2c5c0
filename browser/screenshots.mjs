// Pictures of the page: the recorded model, half way through a response. The argument is the folder to write them to.

import { statSync } from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";
import { Model } from "./model.mjs";
import { open, startProgram } from "./setup.mjs";

const folder = process.argv[2];
const model = await Model.start();
const { program, url } = await startProgram(model);
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
  const file = path.join(folder, name);
  // `caret: "initial"`: hiding it would add a style, which the page's policy forbids.
  await page.screenshot({ path: file, caret: "initial" });
  const size = statSync(file).size;
  console.log(`${name}: ${size} bytes`);
  if (size > 150_000) process.exitCode = 1;
  await check();
}

const growing = "td.growing";
await picture("page.png", { viewport: { width: 1200, height: 1070 }, colorScheme: "light" }, "mixed", 4, growing, 55);
await picture("page-dark.png", { ...wide, colorScheme: "dark" }, "mixed", 6, growing, 30);
await picture("page-calls.png", { ...wide, colorScheme: "light" }, "tool-calls-in-text", 2, '.card[data-state="open"] pre', 25);
await picture("page-phone.png", { ...phone, colorScheme: "light" }, "mixed", 2, growing, 30);

await browser.close();
program.kill();
model.stop();
