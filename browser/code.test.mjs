// A run as a request, and as programs: they are run, and the model must get the same request from them as from the page.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { KEY, ask, open, setup, waitForStatus } from "./setup.mjs";
import { assertFits, findings, still, tabTo } from "./accessible.mjs";
import { load } from "./modules.mjs";

const all = setup();
const { choicesOf, curl, extract, hereDocument, python, rust, rustString, shellWord } = await load("code.js");
const { PROGRAM, TOKENLINE_PYTHON } = process.env;

const folder = mkdtempSync(path.join(tmpdir(), "tokenline-code-"));
after(() => rmSync(folder, { recursive: true }));
mkdirSync(path.join(folder, "bin"));
symlinkSync(PROGRAM, path.join(folder, "bin", "tokenline"));

/** Runs a program, with the key in its environment, in a folder of its own. */
async function run(command, args, { input = "" } = {}) {
  const cwd = mkdtempSync(path.join(folder, "run-"));
  const env = { ...process.env, PATH: `${folder}/bin:${process.env.PATH}`, OPENAI_API_KEY: KEY, NO_PROXY: "127.0.0.1" };
  const child = spawn(command, args, { cwd, env });
  let [out, err] = ["", ""];
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  child.stdin.on("error", () => {}); // a program may end without reading it
  child.stdin.end(input);
  const [code] = await once(child, "close");
  return { code, out, err };
}

/** The first request that a program sends to the model, which responds with `text`, and the program's output. */
async function sent(program, text = '{"n": 1}\n', finish = "stop") {
  const ended = program();
  const exchange = await Promise.race([
    all.model.next(),
    ended.then(({ code, err }) => assert.fail(`the program ended with ${code} before it sent anything: ${err}`)),
  ]);
  if (typeof text === "function") text(exchange);
  else exchange.text(text);
  exchange.finish(finish);
  return { ...exchange.request, ...(await ended) };
}

const bash = (script) => () => run("bash", ["-s"], { input: script });

// /bin/sh of this system: nothing of bash may be needed.
const sh = (script) => () => run("sh", ["-c", script]);

/** The page's own request for a body of its API. */
async function own(body) {
  const response = await fetch(`${all.url}/api/extract`, { method: "POST", headers: { "content-type": "application/json" }, body });
  assert.equal(response.status, 200, await (response.ok ? "" : response.text()));
  const exchange = await all.model.next();
  exchange.text('{"n": 1}\n');
  exchange.finish();
  await response.text();
  return exchange.request;
}

async function preview(body) {
  const response = await fetch(`${all.url}/api/request`, { method: "POST", headers: { "content-type": "application/json" }, body });
  const answer = await response.json();
  assert.equal(response.status, 200, answer.error);
  return answer;
}

const HOSTILE = [
  `It's "quoted": $HOME \${HOME} \`date\` $(date) \\n \\\\ !! !$ %s %d * ~ & | ; < > # \\`,
  "two lines\nEOF\nEOF_1\n  'indented'\n\ttab\n\n",
  "-starts with a hyphen",
  "--provider",
  "-",
  "=",
  '\'"\'"\' """ \'\'\' r#"x"# "## \\"\\"\\"',
  "\u00fcn\u00ef \u{1f600} \u202eevil\u2066 \u05d0\u05d1 \u0007 \u2028 \ufeff",
  '{"json": [1.0, "\\u0041"]}',
  `long ${"it's $5 \\ ".repeat(20_000)}`,
];

test("with hostile prompts, curl and tokenline extract send what the page sends", async () => {
  for (const prompt of HOSTILE) {
    const body = JSON.stringify({ provider: "openai-chat", model: "test", prompt, system: prompt === "-" ? "" : prompt });
    const expected = await own(body);
    const messages = expected.body.messages.map(({ content }) => content);
    assert.ok(messages.every((content) => content === prompt), prompt.slice(0, 40));
    const answer = await preview(body);
    for (const [write, program] of [[curl, bash], [curl, sh], [extract, bash], [extract, sh]]) {
      // The argument of `sh -c` is limited as any is.
      if (program === sh && prompt.length > 10_000) continue;
      const script = write(answer, choicesOf(body));
      assert.ok(!script.includes(KEY));
      const its = await sent(program(script));
      assert.equal(its.code, 0, its.err);
      assert.deepEqual(its.body, expected.body, `${write.name}: ${prompt.slice(0, 40)}`);
      assert.equal(its.headers.authorization, `Bearer ${KEY}`);
      assert.equal(its.out, '{"n": 1}\n');
    }
  }
});

const SCHEMA = `{
  "description": "it's \\"quoted\\": $HOME \`date\` \\\\ EOF",
  "required": ["n"],
  "properties": {"n": {"type": "number", "maximum": 10.50}}
}`;
const TOOLS = '[{"name": "search", "description": "it\'s\\nEOF", "parameters": {"type": "object", "required": ["query"]}}]';

/** Bodies with each option of the form; JSON texts, as the schema is sent as it was written. */
const OPTIONS = {
  schema: `"prompt": "Go.", "schema": ${SCHEMA}`,
  "schema as response format": `"prompt": "Go.", "schema": ${SCHEMA}, "send_schema": "response_format"`,
  "schema in the prompt": `"prompt": "Go.", "system": "Brief.", "schema": ${SCHEMA}, "send_schema": "prompt"`,
  numbers: '"prompt": "Go.", "max_tokens": 100, "temperature": 0.50, "seed": 12345678901234567',
  set: `"prompt": "Go.", "set": {"reasoning_effort": "low", "it's": {"a": [1, "$x\\n'"]}, "-x": null}`,
  reading: '"prompt": "Go.", "reask": 2, "repair": true, "stop_on_repetition": true',
  "built-in prompt": '"prompt_id": "extract-definitions", "text": "A cell\'s parts."',
};

for (const [name, members] of Object.entries(OPTIONS)) {
  test(`the programs send what the page sends: ${name}`, async () => {
    const body = `{"provider": "openai-chat", "model": "test", ${members}}`;
    const expected = await own(body);
    const answer = await preview(body);
    const text = answer.items ? '{"items": [{"n": 1}]}' : '{"n": 1}\n';
    for (const write of [curl, extract]) {
      const its = await sent(bash(write(answer, choicesOf(body))), text);
      assert.equal(its.code, 0, its.err);
      assert.deepEqual(its.body, expected.body, write.name);
      assert.equal(its.out, '{"n": 1}\n', write.name);
    }
  });
}

test("the programs read what the page reads: rejects, calls, repairs", async () => {
  const program = async (members, text, finish) => {
    const body = `{"provider": "openai-chat", "model": "test", "prompt": "Go.", ${members}}`;
    const expected = await own(body);
    const outputs = [];
    for (const write of [extract, curl]) {
      const its = await sent(bash(write(await preview(body), choicesOf(body))), text, finish);
      assert.deepEqual(its.body, expected.body, write.name);
      outputs.push(its.out);
    }
    // Without a call format, only curl's reader takes calls in the text, and says so.
    if (!members.includes('"tools"') || members.includes("call_format")) assert.equal(outputs[1], outputs[0]);
    return outputs[0];
  };
  assert.equal(await program(`"schema": ${SCHEMA}`, '{"m": 1}\n{"n": 11}\n{"n": 2}\n'), '{"n": 2}\n');
  assert.equal(await program('"repair": true', '{"n": 1,}\n'), '{"n": 1}\n');
  const call = (model) => model.call(0, "search", '{"query": "a"}');
  assert.match(await program(`"tools": ${TOOLS}`, call, "tool_calls"), /^\{"name":"search","parameters":\{"query": ?"a"\}/);
  const inText = '{"name": "search", "parameters": {"query": "b"}}\n';
  assert.equal(await program(`"tools": ${TOOLS}`, inText), "");
  assert.match(await program(`"tools": ${TOOLS}, "call_format": "auto"`, inText), /^\{"name":"search","parameters":\{"query": ?"b"\}/);
});

test("the Python programs send what the page sends", async (t) => {
  if (!TOKENLINE_PYTHON) {
    t.diagnostic("!!! TOKENLINE_PYTHON is not set: the Python programs are only compiled, not run");
    console.error("!!! TOKENLINE_PYTHON is not set: the Python programs are only compiled, not run");
  }
  const prompts = HOSTILE.map((prompt) => `"prompt": ${JSON.stringify(prompt)}`);
  const call = (model) => model.call(0, "search", '{"query": "a"}');
  for (const members of [...prompts, ...Object.values(OPTIONS), `"prompt": "Go.", "tools": ${TOOLS}`, `"prompt": "Go.", "tools": ${TOOLS}, "call_format": "auto"`]) {
    const body = `{"provider": "openai-chat", "model": "test", ${members}}`;
    const expected = await own(body);
    const answer = await preview(body);
    const program = python(answer, choicesOf(body));
    assert.ok(!program.includes(KEY));
    const file = path.join(folder, "copied.py");
    writeFileSync(file, program);
    if (!TOKENLINE_PYTHON) {
      const { code, err } = await run("python3", ["-m", "py_compile", file]);
      assert.equal(code, 0, err);
      continue;
    }
    const hasTools = members.includes('"tools"');
    const text = hasTools ? call : answer.items ? '{"items": [{"n": 1}]}' : '{"n": 1}\n';
    const its = await sent(() => run(TOKENLINE_PYTHON, [file]), text, hasTools ? "tool_calls" : "stop");
    assert.equal(its.code, 0, its.err);
    assert.deepEqual(its.body, expected.body);
    assert.equal(its.headers.authorization, `Bearer ${KEY}`);
    assert.equal(its.out, hasTools ? "search {'query': 'a'}\n" : "{'n': 1}\n");
  }
});

/** Runs a program whose model answers three requests: with a record or call that is invalid, again so, and with a valid one. */
async function asked(program, answers) {
  const ended = program();
  const texts = [];
  for (const answer of answers) {
    const exchange = await Promise.race([
      all.model.next(),
      ended.then(({ code, err }) => assert.fail(`the program ended with ${code} after ${texts.length} requests: ${err}`)),
    ]);
    texts.push(exchange.request.body.messages);
    answer(exchange);
  }
  return { ...(await ended), texts };
}

test("the Python programs ask again, as often as the form says", async (t) => {
  if (!TOKENLINE_PYTHON) return t.skip("TOKENLINE_PYTHON is not set");
  const write = (text, finish = "stop") => (exchange) => {
    if (typeof text === "function") text(exchange);
    else exchange.text(text);
    exchange.finish(finish);
  };
  const call = (args) => write((model) => model.call(0, "search", args), "tool_calls");
  const cases = [
    [`"schema": ${SCHEMA}`, [write('{"n": 1}\n{"n": 11}\n'), write('Sorry:\n{"n": "x"}\n'), write('{"n": 2}\n')], "{'n': 1}\n{'n': 2}\n", '{"n": 11}'],
    [
      `"schema": ${SCHEMA}, "send_schema": "response_format"`,
      [write('{"items": [{"n": 1}, {"n": 11}]}'), write('{"items": [{"m": 1}]}'), write('{"items": [{"n": 2}]}')],
      "{'n': 1}\n{'n': 2}\n",
      '{"n": 11}',
    ],
    [`"tools": ${TOOLS}`, [call('{"q": 1}'), call('{"q": 2}'), call('{"query": "a"}')], "search {'query': 'a'}\n", '{"q": 1}'],
  ];
  for (const [members, answers, out, rejected] of cases) {
    const body = `{"provider": "openai-chat", "model": "test", "prompt": "Go.", "reask": 2, ${members}}`;
    const file = path.join(folder, "asks.py");
    writeFileSync(file, python(await preview(body), choicesOf(body)));
    const its = await asked(() => run(TOKENLINE_PYTHON, [file]), answers);
    assert.equal(its.code, 0, its.err);
    assert.equal(its.out, out, members);
    const [first, second] = its.texts;
    assert.deepEqual(second.slice(0, first.length), first);
    assert.deepEqual(second.slice(first.length).map(({ role }) => role), ["assistant", "user"]);
    assert.equal(second.at(-2).content, rejected);
    assert.match(second.at(-1).content, /^This (record was rejected|tool call was not run): .*corrected/s);
  }
});

test("the function that asks again writes turns as each provider does", () => {
  const choices = choicesOf('{"reask": 1}');
  const program = (provider) => python({ provider, url: "http://h", headers: [], body: "{}", items: null, key_variable: null }, choices);
  assert.match(program("anthropic"), /body\["messages"\] \+= \[\n {8}\{"role": "assistant", "content": reject\.text\},/);
  assert.match(program("openai-responses"), /body\["input"\] .*\n.*"assistant", "content": reject\.text/);
  assert.match(program("gemini"), /body\["contents"\] .*\n.*"model", "parts": \[\{"text": reject\.text\}\]/);
  assert.match(program("gemini-interactions"), /body\["input"\] .*\n.*"model_output", "content": \[\{"type": "text", "text": reject\.text\}\]/);
  assert.match(program("bedrock"), /body\["messages"\] .*\n.*"content": \[\{"text": reject\.text\}\]/);
  assert.doesNotMatch(program("anthropic"), /reask_attempts/);
  assert.match(python({ provider: "ollama", url: "http://h", headers: [], body: "{}" }, choicesOf('{"reask": 3}')), /reask=ask_again, reask_attempts=3/);
  assert.doesNotMatch(python({ provider: "ollama", url: "http://h", headers: [], body: "{}" }, choicesOf("{}")), /ask_again|json\.loads/);
});

test("a script says what it does not do, and its files have names of their own", () => {
  const answer = { provider: "ollama", model: "m", method: "POST", prompt: "p", url: "http://h", base_url: "http://h", headers: [], body: "{}" };
  const choices = choicesOf('{"reask": 1, "schema": {"a": 1}}');
  assert.match(curl(answer, choices), /^cat > tokenline-schema\.json <<'EOF'\n/);
  assert.match(curl(answer, choices), /^# This does not ask again for rejected records\./m);
  assert.match(curl(answer, choices), / \| tokenline parse --from ollama --schema tokenline-schema\.json\n/);
  assert.match(extract(answer, choices), /^cat > tokenline-schema\.json <<'EOF'\n/);
  assert.match(curl(answer, choicesOf('{"tools": []}')), /^# It also reads calls in the text\./m);
  for (const body of ['{"tools": [], "call_format": "auto"}', "{}"]) assert.doesNotMatch(curl(answer, choicesOf(body)), /calls in the text|ask again/);
});

test("the Rust program is the one among the examples, which is compiled", async () => {
  const members = [
    '"provider": "openai-chat", "model": "test", "system": "Write JSON.", "prompt": "Name \\"three\\" rivers.\\nOne line each."',
    '"schema": {\n  "required": ["name"],\n  "properties": {"name": {"type": "string"}}\n}',
    '"send_schema": "response_format", "max_tokens": 500, "temperature": 1, "seed": 7, "set": {"reasoning_effort": "low"}',
    '"reask": 2, "repair": true, "stop_on_repetition": true',
  ];
  const body = `{${members.join(",")}}`;
  const answer = await preview(body);
  assert.ok(answer.base_url.startsWith(all.model.url));
  const program = rust({ ...answer, base_url: "http://127.0.0.1:8080" }, choicesOf(body));
  const example = new URL("../examples/examples/copied_run.rs", import.meta.url);
  assert.equal(program, readFileSync(example, "utf8"));
});

test("strings are quoted for each language", () => {
  assert.equal(shellWord("a-b_c.d/e:f"), "a-b_c.d/e:f");
  assert.equal(shellWord(""), "''");
  assert.equal(shellWord("it's"), `'it'"'"'s'`);
  assert.deepEqual(hereDocument("a\nEOF\nEOF_1"), ["<<'EOF_2'", "a\nEOF\nEOF_1\nEOF_2\n"]);
  assert.equal(rustString("plain"), '"plain"');
  assert.equal(rustString('say "x"'), 'r#"say "x""#');
  assert.equal(rustString('"#\n"##'), 'r###""#\n"##"###');
  assert.equal(rustString("back\\slash"), 'r"back\\slash"');
  assert.equal(rustString('a\u202e"\r\n\t'), '"a\\u{202e}\\"\\u{d}\\n\\t"');
});

test("a URL is copied without its secrets, and that is said", () => {
  const answer = { provider: "ollama", model: "m", prompt: "p", base_url: "http://h/v1?key=...", hides_part_of_url: true, headers: [], key_variable: null };
  for (const write of [extract, rust]) {
    assert.match(write(answer, choicesOf("{}")), /A part of the URL may be a secret and is left out: put it in\./);
    assert.doesNotMatch(write({ ...answer, hides_part_of_url: false }, choicesOf("{}")), /secret/);
  }
});

test("a server that the page names gets no key of the environment", () => {
  const body = '{"provider": "openai-chat", "base_url": "http://h"}';
  const answer = { provider: "openai-chat", model: "m", prompt: "p", base_url: "http://h", headers: [], key_variable: null, key_variables: ["OPENAI_API_KEY"] };
  assert.match(extract(answer, choicesOf(body)), /^env -u OPENAI_API_KEY tokenline extract /);
  assert.match(rust(answer, choicesOf(body)), /\.without_api_key\(\)/);
  assert.match(extract(answer, choicesOf("{}")), /^tokenline extract /);
});

/** The text that the button Copy gives. */
async function copied(page) {
  await page.click("#code-panel .primary");
  await page.waitForFunction(() => document.querySelector("#code-panel [role=status]").textContent === "Copied.");
  return page.evaluate(() => navigator.clipboard.readText());
}

const permissions = ["clipboard-read", "clipboard-write"];

test("the page shows the request, and copies programs that send it", async () => {
  const { page, check } = await open(all, { permissions });
  const prompt = HOSTILE[0] + HOSTILE[1];
  await page.selectOption("#provider", "openai-chat");
  await page.$eval("#system", (field) => field.closest("details")?.setAttribute("open", ""));
  await page.fill("#system", "Brief: 'x'");
  await page.check('input[value="schema"]');
  await page.fill("#schema", SCHEMA);
  await page.selectOption("#send-schema", "response_format");
  await page.fill("#max-tokens", "100");
  await page.fill("#temperature", "0.50");
  await page.fill("#seed", "12345678901234567");
  await page.fill("#set", `{"reasoning_effort": "low", "it's": "$x"}`);
  await page.selectOption("#reask", "2");
  await page.check("#repair");
  const model = await ask(all, page, { prompt });
  for (const [name, value] of [["max_tokens", 100], ["temperature", 0.5], ["it's", "$x"]]) {
    assert.equal(model.request.body[name] ?? (name === "max_tokens" && model.request.body.max_completion_tokens), value);
  }
  model.text('{"items": [{"n": 1}]}');
  model.finish();
  await waitForStatus(page, "complete");
  await page.click('[data-opens="code"]');
  await page.waitForSelector("#code-panel:not([hidden])");
  const shown = await page.textContent("#code pre");
  assert.match(shown, /^POST http:\/\/127\.0\.0\.1:\d+\/v1\/chat\/completions\n/);
  assert.ok(shown.includes("\nauthorization: Bearer $OPENAI_API_KEY\n"), shown);
  assert.deepEqual(JSON.parse(shown.slice(shown.indexOf("\n\n"))), model.request.body);
  for (const tab of ["curl", "extract"]) {
    await page.click(`#code-tab-${tab}`);
    const script = await copied(page);
    const its = await sent(bash(script), '{"items": [{"n": 1}]}');
    assert.equal(its.code, 0, its.err);
    assert.deepEqual(its.body, model.request.body);
    assert.equal(its.out, '{"n": 1}\n');
    assert.match(script, tab === "curl" ? / \| tokenline parse --from openai-chat --schema .* --repair\n/ : / --reask 2 .*\n? *--repair/s);
  }
  await page.click("#code-tab-python");
  assert.match(await page.textContent("#code-panel .hint"), /pip install \.\/python in a clone of tokenline/);
  assert.equal(await page.evaluate(() => document.querySelector("#code").innerText.includes("sk-test")), false);
  await check();
});

test("nothing is sent for a recording, and the dialog says so", async () => {
  const { page, check } = await open(all);
  await page.selectOption("#provider", "recorded");
  await page.click('[data-opens="code"]');
  assert.match(await page.textContent("#code .empty"), /^Nothing is sent: /);
  assert.equal(await page.isVisible("#code-panel"), false);
  assert.equal(await page.isVisible("#code [role=tablist]"), false);
  await check();
});

test("a mistake in the form is said instead, and so is what the server refuses", async () => {
  const { page, check } = await open(all, { mayFail: [/status of 400/] });
  await page.selectOption("#provider", "openai-chat");
  await page.fill("#model", "test");
  await page.fill("#prompt", "");
  await page.click('[data-opens="code"]');
  assert.equal(await page.evaluate(() => document.activeElement.id), "prompt");
  assert.equal(await page.isVisible("#code"), false);
  await page.fill("#prompt", "Go.");
  await page.check('input[value="schema"]');
  await page.fill("#schema", '{"type": "nothing"}');
  await page.click('[data-opens="code"]');
  await page.waitForFunction(() => document.querySelector("#code .empty").textContent.includes("schema"));
  assert.equal(await page.isVisible("#code-panel"), false);
  await check();
});

test("without a clipboard, the text is selected as it is", async () => {
  const init = () => Object.defineProperty(navigator, "clipboard", { get: () => undefined });
  const { page, check } = await open(all, { init });
  const model = await ask(all, page, { prompt: "evil\u202e.exe" });
  model.finish();
  await waitForStatus(page, "complete");
  await page.click('[data-opens="code"]');
  await page.click("#code-tab-curl");
  assert.ok((await page.textContent("#code pre")).includes("evil\u27e8U+202E\u27e9.exe"));
  await page.click("#code-panel .primary");
  await page.waitForFunction(() => /selected/.test(document.querySelector("#code-panel [role=status]").textContent));
  assert.ok((await page.evaluate(() => getSelection().toString())).includes("evil\u202e.exe"));
  await check();
});

for (const colorScheme of ["light", "dark"]) {
  test(`the code by keyboard, and axe-core finds nothing serious, ${colorScheme}`, async () => {
    const { page, check } = await open(all, { colorScheme, bypassCSP: true });
    const model = await ask(all, page);
    model.finish();
    await waitForStatus(page, "complete");
    await page.focus("#extract");
    await tabTo(page, "copy-as");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#code-panel:not([hidden])");
    await page.evaluate(still);
    assert.deepEqual(await findings(page), [], "request");
    await tabTo(page, "code-tab-request");
    const selected = () => page.$eval('#code [aria-selected="true"]', (tab) => (tab === document.activeElement ? tab.id : ""));
    for (const [key, tab] of [["ArrowRight", "curl"], ["End", "rust"], ["ArrowRight", "request"], ["ArrowLeft", "rust"], ["Home", "request"]]) {
      await page.keyboard.press(key);
      assert.equal(await selected(), `code-tab-${tab}`, key);
    }
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent("#code pre"), /^# The API key is in [^]*\ncurl /);
    assert.deepEqual(await findings(page), [], "curl");
    await page.keyboard.press("Escape");
    assert.equal(await page.evaluate(() => document.activeElement.id), "copy-as");
    await check();
  });
}

test("the code fits a phone", async () => {
  const { page, check } = await open(all, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
  const model = await ask(all, page, { prompt: "w".repeat(2000) });
  model.finish();
  await waitForStatus(page, "complete");
  await page.click('[data-opens="code"]');
  for (const tab of ["request", "curl", "extract", "python", "rust"]) {
    await page.click(`#code-tab-${tab}`);
    await assertFits(page, "#code");
  }
  await check();
});
