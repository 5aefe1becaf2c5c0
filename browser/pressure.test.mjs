// A page that stalls stalls the model: 100 MB of output, none of it piled up anywhere.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ask, download, open, setup, until, waitForStatus } from "./setup.mjs";

const all = setup();
const RECORDS = 3200;
const MB = 1024 * 1024;

function* records() {
  const filler = "The quick brown fox jumps over the lazy dog. ".repeat(728); // 32 kB
  for (let n = 0; n < RECORDS; n += 1) {
    // As a model writes it, in pieces, though larger ones.
    const line = `{"n": ${n}, "text": "${filler}"}\n`;
    for (let at = 0; at < line.length; at += 8192) yield line.slice(at, at + 8192);
  }
}

const residentMegabytes = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

test("a stalled page keeps the server's memory flat over 100 MB", { timeout: 90_000 }, async (t) => {
  const { page, check } = await open(all, {
    init: () => {
      // A page that is busy or in the background gets no frames.
      const frame = window.requestAnimationFrame.bind(window);
      const held = [];
      window.stall = (stalled) => {
        window.isStalled = stalled;
        if (!stalled) held.splice(0).forEach((callback) => frame(callback));
      };
      window.requestAnimationFrame = (callback) => (window.isStalled ? held.push(callback) : frame(callback));
    },
  });
  const before = residentMegabytes(all.program.pid);
  const model = await ask(all, page);
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, residentMegabytes(all.program.pid))), 20);
  const streamed = model.stream(records()).then(() => model.finish());
  await until(page, () => document.querySelector('tr[data-state="complete"]') !== null);
  await page.evaluate(() => window.stall(true));
  // It is stalled when the model has not been read for a second.
  let sent = -1;
  while (sent !== model.sent) {
    sent = model.sent;
    await sleep(1000);
  }
  const total = [...records()].reduce((sum, text) => sum + text.length, 0);
  assert.ok(total > 100e6);
  assert.ok(sent < 0.5 * total, `stalled, ${sent} bytes were read`);
  const stalled = residentMegabytes(all.program.pid);
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
  await page.evaluate(() => window.stall(false));
  const start = performance.now();
  await waitForStatus(page, "complete", 60_000);
  const seconds = (performance.now() - start) / 1000;
  await streamed;
  clearInterval(watch);
  t.diagnostic(
    `server: ${before.toFixed(0)} MB before, ${stalled.toFixed(0)} MB stalled, at most ${most.toFixed(0)} MB; ` +
      `${(sent / MB).toFixed(1)} MiB read when stalled; page: ${(heap / MB).toFixed(0)} MiB stalled; ` +
      `the rest in ${seconds.toFixed(1)} s`,
  );
  assert.ok(most - before < 32, `${before} MB before, at most ${most} MB`);
  assert.equal(await page.textContent('[data-figure="records"]'), RECORDS.toLocaleString("en"));
  assert.ok((await page.locator("tbody tr").count()) <= 250);
  const { lines } = await download(page);
  assert.equal(lines.length, RECORDS);
  lines.forEach((line, n) => assert.ok(line.startsWith(`{"n": ${n}, `)));
  await check();
});

test("a reload while output floods in says what was lost, and doubles nothing", { timeout: 30_000 }, async (t) => {
  const { page, check } = await open(all);
  const model = await ask(all, page);
  const streamed = model.stream(records());
  await until(page, () => Number(document.querySelector('[data-figure="records"]').textContent.replace(",", "")) > 50);
  await page.reload();
  await until(page, () => Number(document.querySelector('[data-figure="records"]').textContent.replace(",", "")) > 200);
  await page.click("#stop");
  await waitForStatus(page, "stopped");
  await model.closed;
  await streamed;
  const numbers = (await download(page)).lines.map((line) => Number(/^\{"n": (\d+),/.exec(line)[1]));
  assert.ok(numbers.length > 50);
  numbers.forEach((n, at) => assert.ok(at === 0 || n > numbers[at - 1]));
  t.diagnostic(`${numbers.length} of ${numbers.at(-1) + 1} records`);
  if (numbers.at(-1) >= numbers.length) assert.match(await page.textContent("#message"), /could not be replayed/);
  await check();
});
