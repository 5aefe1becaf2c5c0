// The tarball, installed and used in an empty project of each kind.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";

import { BUILDS, buildsStd } from "../scripts/build.mjs";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name) => join(root, "node_modules/.bin", name);
const tool = (path) => join(root, "node_modules", path);

let folder;
let tarball;
let files;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "tokenline-js-"));
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], { cwd: root });
  const packed = Object.values(JSON.parse(stdout))[0];
  tarball = join(folder, packed.filename);
  files = packed.files.map((file) => file.path);
});
after(() => rm(folder, { recursive: true, force: true }));

/** An empty project with the package, and these files. */
async function project(name, contents, packages = []) {
  const path = join(folder, name);
  await mkdir(join(path, "node_modules"), { recursive: true });
  await writeFile(join(path, "package.json"), JSON.stringify({ name, private: true, type: "module" }));
  for (const [file, text] of Object.entries(contents)) await writeFile(join(path, file), text);
  const options = ["--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--legacy-peer-deps"];
  await run("npm", ["install", ...options, tarball], { cwd: path });
  for (const name of packages) {
    await mkdir(join(path, "node_modules", name, ".."), { recursive: true });
    await symlink(tool(name), join(path, "node_modules", name));
  }
  return path;
}

/** What each program prints: the records, the value as it grew, and the call. */
const EXPECTED = '[{"a":1},{"a":2}] ["S","So","Soup"] weather {"city":"Oslo"}';
const PROGRAM = `
  const texts = ['{"a":1}\\n{"a"', ':2}\\n'];
  const all = await records(texts).toArray();
  const titles = [];
  for await (const value of live(['{"title":"S', 'o', 'up"}'])) titles.push(value.title);
  const calls = await toolCalls('Sure. <tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>').toArray();
  const [{ name, parameters }] = calls;
  return [JSON.stringify(all), JSON.stringify([...new Set(titles)]), name, JSON.stringify(parameters)].join(" ");
`;
const main = (entry, then) =>
  `import { live, records, toolCalls } from "${entry}";\nasync function main() {${PROGRAM}}\nmain().then(${then});\n`;

test("the tarball has what is needed, and nothing else", async () => {
  for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-LICENSES", "package.json"]) {
    assert.ok(files.includes(name), `${name} is missing`);
  }
  const others = files.filter((file) => !/^(dist\/[a-z-]+\.(js|d\.ts|wasm)|dist\/builds\/[a-z]+\.js)$/.test(file));
  assert.deepEqual(others.sort(), ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "THIRD-PARTY-LICENSES", "package.json"]);
  const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  for (const entry of Object.values(exports).flatMap((entry) => (typeof entry === "string" ? entry : Object.values(entry)))) {
    assert.ok(files.includes(entry.slice(2)), `${entry} is missing`);
  }
});

test("each build is within its limit", { skip: !buildsStd() && "the standard library was not built" }, async () => {
  for (const { name, limit } of BUILDS) {
    const size = gzipSync(await readFile(join(root, `dist/${name}.wasm`)), { level: 9 }).length;
    assert.ok(size <= limit, `${name}.wasm: ${size} bytes compressed, more than ${limit}`);
  }
});

test("publint and are-the-types-wrong have nothing to say", async () => {
  await run(bin("publint"), ["--strict", tarball], { cwd: root });
  await run(bin("attw"), [tarball, "--profile", "esm-only", "--no-emoji", "--exclude-entrypoints", "live.wasm", "calls.wasm", "providers.wasm", "schema.wasm"], { cwd: root });
});

test("Node: import and require", async () => {
  const path = await project("node", {
    "main.js": main("tokenline", "console.log"),
    "required.cjs": main("tokenline", "console.log").replace(/import (.*) from (.*);/, "const $1 = require($2);"),
    "slim.js": `import { readFile } from "node:fs/promises";
      import { init, initSync } from "tokenline/slim";
      const url = new URL(import.meta.resolve("tokenline/calls.wasm"));
      for (const { live, records, toolCalls } of [await init(url), initSync(await readFile(url)), initSync(new WebAssembly.Module(await readFile(url)))])
        console.log(await (async () => {${PROGRAM}})());`,
  });
  const node = async (file) => (await run(process.execPath, [file], { cwd: path })).stdout.trim();
  assert.equal(await node("main.js"), EXPECTED);
  assert.equal(await node("slim.js"), [EXPECTED, EXPECTED, EXPECTED].join("\n"));
  assert.equal(await node("required.cjs"), EXPECTED);
});

const TYPED = `
import { z } from "zod";
import { records, live, toolCalls, type DeepPartial, type Stream } from "tokenline/schema";
import { JsonlParser, TokenlineError, responses, type ResponseEvent, type ToolCall } from "tokenline/providers";
const Entity = z.object({ name: z.string(), tags: z.array(z.string()) });
type Entity = z.infer<typeof Entity>;
export async function main(response: Response): Promise<void> {
  const stream: Stream<Entity> = records(response, { schema: Entity });
  for await (const entity of stream) entity.name.toUpperCase();
  for await (const value of live(response, { schema: Entity })) {
    const partial: DeepPartial<Entity> = value;
    partial.tags?.[0]?.toUpperCase();
  }
  for await (const call of toolCalls(response, { tools: { weather: z.object({ city: z.string() }) } })) {
    const { name, parameters }: ToolCall = call;
    void [name, parameters];
    call.parameters.city.toUpperCase();
  }
  const tools = { now: { description: "the time" }, add: { inputSchema: z.object({ a: z.coerce.number() }) } };
  for await (const call of toolCalls(response, { tools })) {
    if (call.name === "add") call.parameters.a.toFixed();
    // @ts-expect-error there is no such tool
    else if (call.name === "sub") call;
  }
  for await (const call of toolCalls(response, { tools: [{ name: "now" }] })) call.name satisfies string;
  const Changed = z.object({ at: z.string().transform((text) => new Date(text)), size: z.string().transform((text) => text.length) });
  for await (const value of live(response, { schema: Changed })) {
    // @ts-expect-error a text while it grows
    value.size?.toFixed();
    value.size satisfies string | number | undefined;
    value.at satisfies string | Date | undefined;
  }
  for await (const values of live(response, { schema: Entity, list: true })) values[0]?.tags?.at(0)?.toUpperCase();
  for await (const event of responses(response, { provider: "anthropic" })) {
    if (event.type === "text") event.text.length;
    else if (event.type === "tool_call") event.parameters;
  }
  const parser = new JsonlParser<typeof Entity>();
  for (const event of parser.push("{}")) {
    if (event.type === "record") event.value.name;
    else event.code satisfies string;
  }
  // @ts-expect-error there is no such provider
  responses(response, { provider: "nobody" });
  const unknown: AsyncIterable<unknown> = records(response);
  void [unknown, TokenlineError, null as unknown as ResponseEvent];
}
`;

test("TypeScript 7 and 5.5, for bundlers and for Node", async () => {
  const path = await project("types", { "main.ts": TYPED, "main.mts": TYPED }, ["zod", "@types/node"]);
  const compile = (tsc, ...options) =>
    run(process.execPath, [tool(tsc), "--noEmit", "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.asynciterable", "--types", "node", ...options], { cwd: path }).catch(
      (error) => assert.fail(`${tsc} ${options.join(" ")}\n${error.stdout}`),
    );
  // TypeScript 5.5 is too old for the types of Node.
  for (const [tsc, ...options] of [["typescript/bin/tsc"], ["typescript-5.5/bin/tsc", "--skipLibCheck"]]) {
    await compile(tsc, ...options, "--module", "esnext", "--moduleResolution", "bundler", "main.ts");
    await compile(tsc, ...options, "--module", "nodenext", "--moduleResolution", "nodenext", "main.mts");
  }
});

/** Serves a folder, for as long as `use` takes. */
async function served(path, use) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".mjs": "text/javascript" };
  const server = createServer(async (request, response) => {
    try {
      const name = new URL(request.url, "http://localhost").pathname.replace(/\/$/, "/index.html");
      const content = await readFile(join(path, name));
      response.writeHead(200, { "content-type": types[extname(name)] ?? "application/octet-stream" });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}/`);
  } finally {
    server.close();
  }
}

const PAGE = (script) => `<!doctype html><meta charset="utf-8"><title></title><script type="module" ${script}></script>`;
const SHOW = "(text) => { document.title = text; }, (error) => { document.title = String(error); }";

/** The title that a page gives itself. */
async function titleOf(browser, url) {
  const page = await browser.newPage();
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url);
  await page.waitForFunction(() => document.title !== "", undefined, { timeout: 20_000 }).catch(() => undefined);
  const title = await page.title();
  await page.close();
  return title || errors.join("\n");
}

const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";
const hasChromium = await readFile(chromium).then(() => true, () => false);
if (!hasChromium) console.error(`!!! Chromium is missing: ${chromium}; no page is tested`);

test("pages: esbuild, webpack, Vite, and none of them", { skip: !hasChromium }, async () => {
  const { chromium: launcher } = await import("playwright-core");
  const browser = await launcher.launch({
    executablePath: chromium,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  try {
    const path = await project("pages", {
      "main.js": main("tokenline", SHOW),
      "index.html": PAGE('src="/main.js"'),
    });
    const page = async (name, build) => {
      await mkdir(join(path, name));
      await build(join(path, name));
      assert.equal(await served(join(path, name), (url) => titleOf(browser, url)), EXPECTED, name);
    };
    await page("esbuild", async (out) => {
      await run(bin("esbuild"), ["main.js", "--bundle", "--minify", "--format=esm", `--outfile=${out}/main.js`, "--log-level=error"], { cwd: path });
      await writeFile(join(out, "index.html"), PAGE('src="/main.js"'));
    });
    await page("webpack", async (out) => {
      const { default: webpack } = await import("webpack");
      const compiler = webpack({ mode: "production", context: path, entry: "./main.js", output: { path: out, filename: "main.js" }, performance: false });
      const stats = await promisify(compiler.run.bind(compiler))();
      assert.equal(stats.hasErrors(), false, stats.toString("errors-only"));
      await writeFile(join(out, "index.html"), PAGE('src="/main.js"'));
    });
    await page("vite", async (out) => {
      const { build } = await import("vite");
      await build({ root: path, logLevel: "error", build: { outDir: out, emptyOutDir: false } });
    });
    // Without a bundler: the files as they are, and the module by a URL.
    await page("plain", async (out) => {
      await cp(join(path, "node_modules/tokenline/dist"), join(out, "tokenline"), { recursive: true });
      await writeFile(join(out, "main.js"), main("/tokenline/index.js", SHOW));
      await writeFile(join(out, "index.html"), PAGE('src="/main.js"'));
    });
    await page("slim", async (out) => {
      await cp(join(path, "node_modules/tokenline/dist"), join(out, "tokenline"), { recursive: true });
      const script = `import { init } from "/tokenline/slim.js";
        const { live, records, toolCalls } = await init("/tokenline/calls.wasm");
        async function main() {${PROGRAM}}
        main().then(${SHOW});`;
      await writeFile(join(out, "main.js"), script);
      await writeFile(join(out, "index.html"), PAGE('src="/main.js"'));
    });
  } finally {
    await browser.close();
  }
});

/** The path of a runtime from the registry, if it is there. */
async function runtime(path) {
  return (await readFile(tool(path)).then(() => true, () => false)) ? tool(path) : undefined;
}

test("Deno", async (t) => {
  const deno = await runtime("@deno/linux-x64-glibc/deno");
  if (!deno) return t.skip("!!! Deno is not installed");
  const path = await project("deno", { "main.js": main("tokenline", "console.log") });
  const { stdout } = await run(deno, ["run", "--no-config", "--node-modules-dir=manual", "--allow-read", "main.js"], { cwd: path, env: { ...process.env, DENO_NO_UPDATE_CHECK: "1", DENO_DIR: join(folder, "deno-cache") } });
  assert.equal(stdout.trim(), EXPECTED);
});

test("Bun", async (t) => {
  const bun = await runtime("@oven/bun-linux-x64/bin/bun");
  if (!bun) return t.skip("!!! Bun is not installed");
  const path = await project("bun", { "main.js": main("tokenline", "console.log") });
  const { stdout } = await run(bun, ["run", "main.js"], { cwd: path });
  assert.equal(stdout.trim(), EXPECTED);
});

/** Runs a worker that imports a module, and calls back with its URL. */
async function withWorker(t, name, { main, module, bindings = {} }, use) {
  const workerd = await runtime("@cloudflare/workerd-linux-64/bin/workerd");
  if (!workerd) return t.skip("!!! workerd is not installed");
  const texts = Object.entries(bindings).map(([name, text]) => `(name = "${name}", text = "${text}")`);
  const path = await project(name, {
    "main.js": main,
    "config.capnp": `using Workerd = import "/workerd/workerd.capnp";
      const config :Workerd.Config = (
        services = [
          (name = "main", worker = (compatibilityDate = "2026-11-01", bindings = [${texts.join(", ")}], modules = [
            (name = "main.js", esModule = embed "bundled.js"),
            (name = "tokenline/${module}", wasm = embed "${module}"),
          ])),
          (name = "internet", network = (allow = ["private"])),
        ],
        sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
      );`,
  });
  await cp(join(path, "node_modules/tokenline/dist", module), join(path, module));
  await run(bin("esbuild"), ["main.js", "--bundle", "--format=esm", `--external:tokenline/${module}`, "--outfile=bundled.js", "--log-level=error"], { cwd: path });
  const worker = spawn(workerd, ["serve", "config.capnp", "--control-fd=3"], { cwd: path, stdio: ["ignore", "inherit", "inherit", "pipe"] });
  try {
    const port = await new Promise((resolve, reject) => {
      worker.stdio[3].on("data", (data) => {
        for (const line of String(data).trim().split("\n")) {
          const event = JSON.parse(line);
          if (event.event === "listen") resolve(event.port);
        }
      });
      worker.on("exit", (code) => reject(new Error(`workerd ended with ${code}`)));
    });
    await use(`http://127.0.0.1:${port}/`);
  } finally {
    worker.kill();
  }
}

test("Cloudflare Workers: the module is imported", (t) => {
  const main = `import module from "tokenline/calls.wasm";
    import { initSync } from "tokenline/slim";
    const { live, records, toolCalls } = initSync(module);
    export default { async fetch() { return new Response(await (async () => {${PROGRAM}})()); } };`;
  return withWorker(t, "worker", { main, module: "calls.wasm" }, async (url) => {
    assert.equal(await (await fetch(url)).text(), EXPECTED);
  });
});

/** Calls back with the URL of a model that streams these deltas as chat completions. */
async function withModel(deltas, use) {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const delta of deltas) response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\n`);
    response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  try {
    await use(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.close();
  }
}

test("the example for Node", async () => {
  const example = await readFile(join(root, "examples/node/extract.mjs"), "utf8");
  const path = await project("example-node", { "extract.mjs": example });
  const text = ['Of course:\n{"name":"Io","no', 'te":"volcanoes"}\n{"name":1}\n', '{"name":"Europa","note":"ice"}\n'];
  await withModel(text.map((content) => ({ content })), async (url) => {
    const { stdout, stderr } = await run(process.execPath, ["extract.mjs"], { cwd: path, env: { ...process.env, OPENAI_BASE_URL: url } });
    assert.equal(stdout, '{"name":"Io","note":"volcanoes"}\n{"name":"Europa","note":"ice"}\n');
    assert.equal(stderr, "1:1: prose: text without a record\n3:9: schema_violation: expected type string, found a number\n");
  });
});

test("the example for Workers", async (t) => {
  const main = await readFile(join(root, "examples/worker/worker.js"), "utf8");
  const call = (part) => ({ tool_calls: [{ index: 0, ...part }] });
  const deltas = [
    call({ id: "c", type: "function", function: { name: "weather", arguments: '{"ci' } }),
    call({ function: { arguments: 'ty":"Oslo"}' } }),
  ];
  await withModel(deltas, (MODEL_URL) =>
    withWorker(t, "example-worker", { main, module: "providers.wasm", bindings: { MODEL_URL } }, async (url) => {
      const response = await fetch(url, { method: "POST", body: "{}" });
      assert.equal(await response.text(), '{"name":"weather","parameters":{"city":"Oslo"}}\n');
    }),
  );
});
