// The code of the README: all of it is type-checked, and what needs no server or page runs.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));

/** What the code of an application defines around it. */
const AROUND = `
declare const url: string, request: RequestInit, response: Response;
declare function render(value: unknown): void;
declare function show(value: unknown): void;
declare function write(text: string): void;
declare function count(tokens: number | undefined): void;
declare function run(name: string, parameters: unknown): Promise<void>;
declare function provider(model: string): import("@ai-sdk/provider").LanguageModelV4;
declare const tools: import("ai").ToolSet;
declare const River: import("zod").ZodObject<{ name: import("zod").ZodString }>;
declare function Row(props: { river: { name?: string } }): import("react").ReactElement;
`;

/** Server-sent events of Anthropic with one call. */
const ANTHROPIC = [
  { type: "message_start", message: { id: "m", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "c", name: "weather", input: {} } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"city":"Oslo"}' } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];
/** And of OpenAI's Responses, with text and a call whose arguments come in pieces. */
const RESPONSES = [
  { type: "response.created", response: { id: "r", status: "in_progress" } },
  { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "m", content: [] } },
  { type: "response.output_text.delta", output_index: 0, content_index: 0, item_id: "m", delta: "Let me see." },
  { type: "response.output_item.added", output_index: 1, item: { type: "function_call", id: "f", call_id: "c", name: "weather", arguments: "" } },
  { type: "response.function_call_arguments.delta", output_index: 1, item_id: "f", delta: '{"city":"Os' },
  { type: "response.function_call_arguments.delta", output_index: 1, item_id: "f", delta: 'lo"}' },
  { type: "response.function_call_arguments.done", output_index: 1, item_id: "f", arguments: '{"city":"Oslo"}' },
  { type: "response.output_item.done", output_index: 1, item: { type: "function_call", id: "f", call_id: "c", name: "weather", arguments: '{"city":"Oslo"}' } },
  { type: "response.completed", response: { id: "r", status: "completed", usage: { input_tokens: 1, output_tokens: 7 } } },
];
const events = (all) => all.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);

/** A response that comes in these pieces. */
function respond(...pieces) {
  const encoder = new TextEncoder();
  return new Response(ReadableStream.from(pieces.map((piece) => encoder.encode(piece))));
}

/** What the code of a section reads, and what it does with it. */
const SECTIONS = {
  tokenline: {
    bodies: {
      "/extract": ['Here:\n{"name":"DNA"', ',"kind":"molecule"}\n'],
      "/recipe": ['{"title":"Onion so', 'up","steps":["Peel th', 'em"]}'],
      "/chat": ['<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>'],
    },
    does: [
      ["log", { name: "DNA", kind: "molecule" }],
      ["render", { title: "Onion so" }],
      ["render", { title: "Onion soup", steps: ["Peel th"] }],
      ["render", { title: "Onion soup", steps: ["Peel them"] }],
      ["run", "weather", { city: "Oslo" }],
    ],
  },
  Records: { bodies: { "/extract": ['{"name":"TP53","kind":"gene"}\n{"name":"","kind":"gene"}\n'] }, does: [["log", 1, { schema_violation: 1 }]] },
  "A value as it grows": {
    response: () => respond('{"title":"Soup","steps":["Pe', 'el","Ch', 'op"]}'),
    does: [
      ["show", []],
      ["show", ["Peel"]],
      ["show", ["Peel", "Chop"]],
      // What the schema has made of it.
      ["show", ["Peel", "Chop"]],
    ],
  },
  "Tool calls": { response: () => respond(...events(ANTHROPIC)), does: [["run", "weather", { city: "Oslo" }]] },
  "Everything in a response": {
    bodies: { "/responses": events(RESPONSES) },
    does: [
      ["write", "Let me see."],
      ["show", [{ choice: 0, number: 1, id: "c", name: "weather", parameters: { city: "Os" } }]],
      ["show", [{ choice: 0, number: 1, id: "c", name: "weather", parameters: { city: "Oslo" } }]],
      ["run", "weather", { city: "Oslo" }],
      ["count", 7],
    ],
  },
  "Without I/O, and in pipes": { does: [["log", { a: 1 }]] },
};

let folder;
let blocks;

before(async () => {
  // Inside the package, so that its own name leads to it.
  folder = await mkdtemp(join(root, "test/.readme-"));
  blocks = [];
  let section = "";
  for (const [, heading, language, code] of (await readFile(join(root, "README.md"), "utf8")).matchAll(
    /^#+ (.*)$|^```(js|ts|tsx)\n([^]*?)^```$/gm,
  )) {
    if (heading !== undefined) section = heading;
    else blocks.push({ section, language, code });
  }
});
after(() => rm(folder, { recursive: true, force: true }));

test("the README's code has the right types", async () => {
  assert.ok(blocks.length >= 9, `${blocks.length} blocks`);
  await writeFile(join(folder, "around.d.ts"), AROUND);
  for (const [at, { language, code }] of blocks.entries()) {
    await writeFile(join(folder, `block-${at}.${language === "js" ? "mts" : language}`), `${code}\nexport {};\n`);
  }
  const compilerOptions = {
    noEmit: true,
    strict: true,
    target: "es2022",
    lib: ["es2022", "dom", "dom.asynciterable", "esnext.disposable"],
    module: "esnext",
    moduleResolution: "bundler",
    moduleDetection: "force",
    jsx: "react-jsx",
    skipLibCheck: true,
    types: ["node"],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*"] }));
  await promisify(execFile)(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", folder]).catch((error) =>
    assert.fail(error.stdout),
  );
});

for (const [section, { bodies, response, does }] of Object.entries(SECTIONS)) {
  test(`the code of "${section}" does what it says`, async () => {
    const its = blocks.filter((block) => block.section === section && block.language === "js");
    assert.equal(its.length, 1);
    const done = [];
    const note = (name) => (...values) => void done.push([name, ...structuredClone(values)]);
    Object.assign(globalThis, {
      url: "/responses",
      request: {},
      response: response?.(),
      render: note("render"),
      show: note("show"),
      write: note("write"),
      count: note("count"),
      run: note("run"),
    });
    const { fetch } = globalThis;
    const { log } = console;
    globalThis.fetch = async (url) => respond(...bodies[url]);
    console.log = note("log");
    try {
      const path = join(folder, `${Object.keys(SECTIONS).indexOf(section)}.mjs`);
      await writeFile(path, its[0].code);
      await import(pathToFileURL(path).href);
    } finally {
      globalThis.fetch = fetch;
      console.log = log;
    }
    assert.deepEqual(done, does);
  });
}
