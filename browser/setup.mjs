// The program, a browser, and pages that watch what they do.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { once } from "node:events";
import net from "node:net";
import path from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";
import { Model } from "./model.mjs";

export const KEY = "sk-test-a-key-that-no-page-may-see";
const { PROGRAM, CHROMIUM, PAGE_ASSETS } = process.env;

export async function startProgram(model, more = []) {
  const args = ["serve", "--quiet", "--listen", "127.0.0.1:0", "--base-url", `openai-chat=${model.url}`, ...more];
  const program = spawn(PROGRAM, args, {
    env: { ...process.env, OPENAI_API_KEY: KEY },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await once(createInterface(program.stdout), "line");
  return { program, url };
}

/** Starts all before the tests of a file, and ends it after them. */
export function setup({ args } = {}) {
  const all = {};
  before(async () => {
    all.model = await Model.start();
    Object.assign(all, await startProgram(all.model, args));
    all.browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
  });
  after(async () => {
    await all.browser?.close();
    all.program?.kill();
    all.model?.stop();
  });
  return all;
}

/** A fresh page. `check` fails for any error on the console, CSP violation, or request to another host. */
export async function open({ browser, url }, { origin = url, mayFail = [], init, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  if (PAGE_ASSETS) await serveFrom(context, PAGE_ASSETS);
  await context.addInitScript(() => {
    window.violations = [];
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      window.violations.push(`${violatedDirective} ${blockedURI}`);
    });
  });
  if (init) await context.addInitScript(init);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`${error}`));
  page.on("console", (message) => {
    if (!mayFail.some((pattern) => pattern.test(message.text()))) problems.push(message.text());
  });
  page.on("request", (request) => {
    const { protocol, origin: its } = new URL(request.url());
    if (its !== origin && protocol !== "blob:") problems.push(`request to ${request.url()}`);
  });
  await page.goto(origin);
  await ready(page);
  return {
    page,
    context,
    async check() {
      assert.deepEqual(await page.evaluate(() => window.violations), []);
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}

// The page's files from a folder, with the headers of the server.
async function serveFrom(context, folder) {
  await context.route(/^http:\/\/[^/]+\/(assets\/.*)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.replace(/^\/(assets\/)?/, "") || "index.html";
    const index = await route.fetch({ url: new URL("/", route.request().url()).href });
    const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
    const headers = { ...index.headers(), "content-type": types[path.extname(name)] };
    delete headers["content-length"];
    await route.fulfill({ path: path.join(folder, name), headers });
  });
}

/** Asks the model under control, and returns its exchange. */
export async function ask({ model }, page, { prompt = "Go.", tools, callFormat = "" } = {}) {
  await page.selectOption("#provider", "openai-chat");
  await page.fill("#model", "test");
  await page.fill("#prompt", prompt);
  if (tools) {
    await page.check('input[value="tools"]');
    await page.fill("#tools", tools);
    await page.selectOption("#call-format", callFormat);
  }
  await page.click("#extract");
  const exchange = await model.next();
  // The page draws in frames: until the next one it shows the end of the run before.
  await page.waitForSelector('#stop[aria-disabled="false"]');
  return exchange;
}

export async function waitForStatus(page, status, timeout = 15_000) {
  await page.waitForSelector(`#status[data-status="${status}"]`, { timeout });
}

/** Waits for the end of a run, however it ended. */
export async function waitForEnd(page) {
  await page.waitForSelector('#stop[aria-disabled="true"]', { timeout: 15_000 });
}

/** The rows of the table: [state, number, cells...]. */
export function rows(page) {
  return page.$$eval("#records tbody tr", (all) =>
    all.map((row) => [
      row.dataset.state,
      row.firstChild.lastChild.textContent,
      ...[...row.children].slice(1).map((cell) => cell.textContent),
    ]),
  );
}

/** Waits until the form is filled. */
export const ready = (page) => until(page, () => document.querySelector("#provider")?.options.length > 0);

/** Waits until a function in the page returns true. Looks without frames, which some tests withhold. */
export const until = (page, check, arg, timeout = 10_000) => page.waitForFunction(check, arg, { timeout, polling: 20 });

/** The downloaded lines. */
export async function download(page, button = "#download") {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(button)]);
  const parts = [];
  for await (const part of await file.createReadStream()) parts.push(part);
  const text = Buffer.concat(parts).toString();
  return { name: file.suggestedFilename(), text, lines: text === "" ? [] : text.trimEnd().split("\n") };
}

/** A way to the program that can be cut. */
export async function cuttable({ url }) {
  const sockets = new Set();
  const target = new URL(url);
  const server = net.createServer((near) => {
    const far = net.connect(Number(target.port), target.hostname);
    for (const [one, other] of [[near, far], [far, near]]) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref(); // a test that fails does not stop it
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    cut: () => sockets.forEach((socket) => socket.destroy()),
    stop() {
      server.close();
      this.cut();
    },
  };
}
