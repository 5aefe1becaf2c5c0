// The middleware for AI SDK 7, through `streamText` and `generateText` over models that say what a test wants.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { generateText, isStepCount, jsonSchema, Output, streamText, tool, wrapLanguageModel } from "ai";
import { MockLanguageModelV4, convertArrayToReadableStream, convertReadableStreamToArray } from "ai/test";
import { z } from "zod";
import { extractToolCallsMiddleware } from "../dist/ai.js";

globalThis.AI_SDK_LOG_WARNINGS = false;

const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const SYNTAXES = JSON.parse(readFileSync(path("crates/tokenline-core/src/call_format/syntaxes.json"), "utf8"));

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const finish = (unified = "stop") => ({ type: "finish", usage: USAGE, finishReason: { unified, raw: `raw-${unified}` } });

/** A text in deltas of `size` characters. */
function cut(text, size) {
  const chars = [...text];
  return Array.from({ length: Math.ceil(chars.length / size) }, (_, at) => chars.slice(at * size, (at + 1) * size).join(""));
}
/** The ways to cut a text: in two everywhere, and into equal deltas. */
function* cuts(text, sizes = [1, 2, 3, 5, 9]) {
  yield [text];
  for (const size of sizes) yield cut(text, size);
  for (let at = 1; at < text.length; at++) yield [text.slice(0, at), text.slice(at)];
}
const block = (deltas, id = "0") => [
  { type: "text-start", id },
  ...deltas.map((delta) => ({ type: "text-delta", id, delta })),
  { type: "text-end", id },
];
const response = (deltas, unified) => [{ type: "stream-start", warnings: [] }, ...block(deltas), finish(unified)];

/** A middleware whose ids are the same each time. */
function middleware(options) {
  let made = 0;
  return extractToolCallsMiddleware({ generateId: () => `id${++made}`, ...options });
}
/** A model that answers each request with the next of these: parts of a stream, or a text. */
function models(answers, options) {
  const next = answers.map((answer) => (typeof answer === "string" ? response(cut(answer, 4)) : answer));
  let at = 0;
  const mock = new MockLanguageModelV4({
    doStream: async () => ({ stream: convertArrayToReadableStream(next[at++]) }),
    doGenerate: async () => {
      const parts = next[at++];
      const content = [];
      for (const part of parts) {
        if (part.type === "text-start") content.push({ type: "text", text: "" });
        else if (part.type === "text-delta") content.at(-1).text += part.delta;
        else if (["tool-call", "source", "file"].includes(part.type)) content.push(part);
      }
      const { finishReason, usage } = parts.at(-1);
      return { content, finishReason, usage, warnings: [] };
    },
  });
  return { mock, model: wrapLanguageModel({ model: mock, middleware: middleware(options) }) };
}

/** Tools that remember what they were called with. */
function toolbox() {
  const ran = [];
  const run = (name, result) => async (input) => {
    ran.push([name, input]);
    return result;
  };
  const tools = {
    weather: tool({
      description: "The weather of a city.",
      inputSchema: z.object({ city: z.string().optional(), days: z.number().int().optional() }),
      execute: run("weather", { sky: "clear" }),
    }),
    now: tool({ description: "The time.", inputSchema: z.object({}), execute: run("now", "12:00") }),
    write: tool({ inputSchema: z.object({ path: z.string(), text: z.string() }), execute: run("write", "ok") }),
  };
  return { ran, tools };
}

const FUNCTIONS = [
  {
    type: "function",
    name: "weather",
    description: "The weather of a city.",
    inputSchema: {
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      additionalProperties: false,
    },
  },
  { type: "function", name: "now", inputSchema: { type: "object", properties: {}, additionalProperties: false } },
];

/** The parts that the middleware makes of these. */
async function parts(chunks, { options, ...params } = {}) {
  const doStream = async () => ({ stream: convertArrayToReadableStream(chunks) });
  const request = { prompt: [], tools: FUNCTIONS, ...params };
  const { stream } = await middleware(options).wrapStream({ doStream, params: request, model: { doStream } });
  return convertReadableStreamToArray(stream);
}
/** Parts with the deltas that follow each other joined. */
function joined(all) {
  const out = [];
  for (const part of all) {
    const last = out.at(-1);
    if (part.type.endsWith("-delta") && last?.type === part.type && last.id === part.id) {
      out[out.length - 1] = { ...last, ...part, delta: last.delta + part.delta };
    } else out.push({ ...part });
  }
  return out;
}
/** What a stream has, in a few words. */
const brief = (all) =>
  joined(all).flatMap((part) => {
    if (part.type === "text-delta" || part.type === "reasoning-delta") return [[part.type.slice(0, -6), part.delta]];
    if (part.type === "tool-call") return [["call", part.toolName, part.input]];
    return part.type === "finish" ? [["finish", part.finishReason.unified]] : [];
  });
const textOf = (all) => all.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
/** That what begins ends, and that calls and their inputs fit. */
function checkShape(all) {
  const open = new Map();
  for (const part of all) {
    const kind = part.type.replace(/-(start|delta|end)$/, "");
    if (part.type.endsWith("-start") && kind !== "stream") {
      assert(!open.has(`${kind} ${part.id}`), `${kind} ${part.id} begins twice`);
      open.set(`${kind} ${part.id}`, false);
    } else if (part.type.endsWith("-delta")) {
      assert.equal(open.get(`${kind} ${part.id}`), false);
    } else if (part.type.endsWith("-end")) {
      assert.equal(open.get(`${kind} ${part.id}`), false);
      open.set(`${kind} ${part.id}`, true);
    } else if (part.type === "tool-call") {
      assert(open.get(`tool-input ${part.toolCallId}`) ?? true, "a call is whole before its input has ended");
    }
  }
  for (const [id, isOver] of open) assert(isOver, `${id} has no end`);
}

const HERMES = (name, input) => `<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`;
const TURN = `Let me see.\n${HERMES("weather", { city: "Paris" })}\nAnd the time:\n${HERMES("now", {})}\nDone.`;

test("a call in the text runs, with text around it in order, at every cut", async () => {
  let expected;
  for (const deltas of cuts(TURN)) {
    const { ran, tools } = toolbox();
    const { model } = models([response(deltas)]);
    const result = streamText({ model, prompt: "?", tools });
    const all = [];
    for await (const { type, id, text, delta, toolCallId, toolName, input, output, finishReason } of result.stream ?? result.fullStream) {
      const last = all.at(-1);
      if (type.endsWith("-delta") && last?.type === type && last.id === id) last.text += text ?? delta;
      else if (!/^(start|finish)/.test(type)) all.push({ type, id, text: text ?? delta, toolCallId, toolName, input, output });
      else if (type === "finish") all.push({ type, finishReason });
    }
    assert.deepEqual(ran, [["weather", { city: "Paris" }], ["now", {}]]);
    expected ??= all;
    assert.deepEqual(all, expected, JSON.stringify(deltas));
  }
  assert.deepEqual(
    expected.map(({ type, text, toolName }) => [type, text ?? toolName].filter(Boolean).join(" ")),
    [
      "text-start",
      "text-delta Let me see.\n",
      "text-end",
      "tool-input-start weather",
      'tool-input-delta {"city":"Paris"}',
      "tool-input-end",
      "tool-call weather",
      "text-start",
      "text-delta And the time:\n",
      "text-end",
      "tool-input-start now",
      "tool-input-delta {}",
      "tool-input-end",
      "tool-call now",
      "text-start",
      "text-delta Done.",
      "text-end",
      "tool-result weather",
      "tool-result now",
      "finish",
    ],
  );
  assert.equal(expected.at(-1).finishReason, "tool-calls");
});

test("text passes and inputs grow before a call is complete", async () => {
  const start = `Hello ${'<tool_call>\n{"name": "write", "arguments": {"path": "a.txt", "text": "one two three'}`;
  const write = { type: "function", name: "write", inputSchema: { type: "object" } };
  const source = new ReadableStream({
    start(controller) {
      controller.enqueue({ type: "text-start", id: "0" });
      for (const delta of cut(start, 6)) controller.enqueue({ type: "text-delta", id: "0", delta });
    },
    cancel: (reason) => (cancelled = reason),
  });
  let cancelled;
  const doStream = async () => ({ stream: source });
  const { stream } = await middleware().wrapStream({ doStream, params: { prompt: [], tools: [write] }, model: { doStream } });
  const reader = stream.getReader();
  let text = "";
  let input = "";
  while (!input.includes("three")) {
    const { value } = await reader.read();
    if (value.type === "text-delta") text += value.delta;
    if (value.type === "tool-input-delta") input += value.delta;
  }
  assert.equal(text, "Hello");
  assert.equal(input, '{"path": "a.txt", "text": "one two three');
  await reader.cancel("enough");
  assert.equal(cancelled, "enough");
});

for (const [at, { name, example }] of SYNTAXES.entries()) {
  test(`${name} (${at})`, async () => {
    const text = `Hello.\n${example}\nBye.`;
    const { ran, tools } = toolbox();
    const { model } = models([response([text])]);
    await streamText({ model, prompt: "?", tools }).consumeStream();
    const hasCity = example.includes("Paris");
    assert.deepEqual(ran[0], ["weather", hasCity ? { city: "Paris" } : {}]);
    assert.deepEqual(ran.slice(1), example.includes("now()") ? [["now", {}]] : []);
    const generated = toolbox();
    await generateText({ model: models([response([text])]).model, prompt: "?", tools: generated.tools });
    assert.deepEqual(generated.ran, ran);
    let expected;
    for (const deltas of cuts(text, [1, 3])) {
      const all = await parts(response(deltas));
      checkShape(all);
      for (const { type, input } of all) if (type === "tool-call") JSON.parse(input);
      expected ??= joined(all);
      assert.deepEqual(joined(all), expected, JSON.stringify(deltas));
    }
    // What a call grew to is what it is.
    const shown = expected.flatMap(({ type, delta }) => (type === "tool-input-delta" ? [delta] : []));
    assert.deepEqual(shown, expected.flatMap(({ type, input }) => (type === "tool-call" ? [input] : [])));
  });
}

test("text without calls stays as it is, at every cut", async () => {
  const texts = [
    "Hello, world.",
    "  \n indented\n\n- one\n- two\n  ",
    "\n",
    "We use <tool_call> tags. And </tool_call>, and [TOOL_CALLS].",
    'An object {"a": 1} in a text, and a list: [{"a": 1}, {"b": [2]}].\n',
    '```json\n{"a": 1}\n```\nis JSON.\n',
    '{"recipe": {"name": "Soup", "steps": ["boil"]}}',
    '{"name": "Bob", "parameters": {"age": 3}}',
    'Bob is {"name": "Bob", "arguments": {}}, said she.\n{"name": "Ann", "arguments": {}}\nBye.',
    "weather(city) is a function; so is `now()`.\n",
    "```python\nweather(city='Paris')\n```\nis Python.",
    'Write `<tool_call>{"name": "now", "arguments": {}}</tool_call>` for a call.',
    "Grüße, 世界 🌍!\r\nzwei\r\n",
    '{"cut": "of',
  ];
  for (const text of texts) {
    for (const deltas of cuts(text)) {
      const all = await parts(response(deltas));
      checkShape(all);
      assert.equal(textOf(all), text);
      assert.deepEqual(brief(all).map(([type]) => type), ["text", "finish"], text);
      assert.equal(all.at(-1).finishReason.unified, "stop");
    }
    const { model, mock } = models([response([text])]);
    const { tools } = toolbox();
    const result = await generateText({ model, prompt: "?", tools });
    assert.equal(result.text, text);
    assert.equal(mock.doGenerateCalls.length, 1);
  }
});

test("a quoted call is not run", async () => {
  const call = '<tool_call>{"name": "now", "arguments": {}}</tool_call>';
  for (const text of [`Write \`${call}\`.`, `\`\`\`python\n${call}\n\`\`\`\n`, "```python\n[now()]\n```\n"]) {
    for (const options of [{}, { toolsInPrompt: true }]) {
      const { ran, tools } = toolbox();
      const { model } = models([text], options);
      const result = streamText({ model, prompt: "?", tools });
      assert.equal(await result.text, text);
      assert.equal(await result.finishReason, "stop");
      assert.deepEqual(ran, []);
    }
  }
  // One who names the syntax says that the model quotes nothing.
  const { ran, tools } = toolbox();
  await streamText({ model: models([`\`${call}\``], { callFormat: "hermes" }).model, prompt: "?", tools }).consumeStream();
  assert.deepEqual(ran, [["now", {}]]);
});

const loops = {
  streamText: async (settings) => {
    const result = streamText(settings);
    await result.consumeStream();
    return { text: await result.text, steps: await result.steps, calls: "doStreamCalls" };
  },
  generateText: async (settings) => {
    const { text, steps } = await generateText(settings);
    return { text, steps, calls: "doGenerateCalls" };
  },
};
for (const [name, run] of Object.entries(loops)) {
  test(`${name}: a loop with a server that takes tools`, async () => {
    const { ran, tools } = toolbox();
    const { model, mock } = models([TURN, "Clear at noon."]);
    const { text, steps, calls } = await run({ model, instructions: "Be brief.", prompt: "?", tools, stopWhen: isStepCount(3) });
    assert.equal(text, "Clear at noon.");
    assert.deepEqual(ran, [["weather", { city: "Paris" }], ["now", {}]]);
    assert.deepEqual(steps.map((step) => step.finishReason), ["tool-calls", "stop"]);
    const [first, second] = mock[calls];
    assert.deepEqual(first.tools.map((tool) => tool.name), ["weather", "now", "write"]);
    assert.deepEqual(first.prompt[0], { role: "system", content: "Be brief." });
    const [, , assistant, results] = second.prompt;
    assert.deepEqual(
      assistant.content.map(({ type, text, toolCallId, toolName, input }) => [type, text ?? [toolCallId, toolName, input]]),
      [
        ["text", "Let me see.\n"],
        ["tool-call", ["id1", "weather", { city: "Paris" }]],
        ["text", "And the time:\n"],
        ["tool-call", ["id2", "now", {}]],
        ["text", "Done."],
      ],
    );
    assert.equal(results.role, "tool");
    assert.deepEqual(
      results.content.map(({ toolCallId, output }) => [toolCallId, output.value]),
      [["id1", { sky: "clear" }], ["id2", "12:00"]],
    );
  });

  test(`${name}: a loop with tools in the prompt`, async () => {
    const { ran, tools } = toolbox();
    const { model, mock } = models([TURN, "Clear at noon."], { toolsInPrompt: true });
    const { text, calls } = await run({
      model,
      instructions: "Be brief.",
      prompt: "?",
      tools,
      toolChoice: "auto",
      stopWhen: isStepCount(3),
    });
    assert.equal(text, "Clear at noon.");
    assert.deepEqual(ran, [["weather", { city: "Paris" }], ["now", {}]]);
    for (const { tools, toolChoice } of mock[calls]) assert.deepEqual({ tools, toolChoice }, { tools: undefined, toolChoice: undefined });
    const [first, second] = mock[calls];
    assert.match(first.prompt[0].content, /^Be brief\.\n\nYou may call these functions, .*<tools>\n\{"type": "function", /);
    assert.equal(first.prompt.length, 2);
    assert.deepEqual(second.prompt[0], first.prompt[0]);
    const [, , assistant, results] = second.prompt;
    assert.deepEqual(new Set(assistant.content.map(({ type }) => type)), new Set(["text"]));
    assert.equal(
      assistant.content.map(({ text }) => text).join(""),
      'Let me see.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>\nAnd the time:\n' +
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>\nDone.',
    );
    assert.deepEqual(results, {
      role: "user",
      content: [
        {
          type: "text",
          text: '<tool_response>\n{"sky":"clear"}\n</tool_response>\n<tool_response>\n12:00\n</tool_response>',
        },
      ],
    });
  });

  test(`${name}: a truncated call is not run, and the model is told`, async () => {
    for (const ending of ["length", "content-filter", "other", "stop"]) {
      for (const half of ['{"name": "now", "arguments": {}', '{"name": "weather", "arguments": {"city": "Par', '{"name": "now", "arguments": {']) {
        const { ran, tools } = toolbox();
        const { model, mock } = models([response([`Now.\n<tool_call>\n${half}`], ending), "Sorry."]);
        const { steps, calls } = await run({ model, prompt: "?", tools, stopWhen: isStepCount(2) });
        assert.deepEqual(ran, []);
        assert.equal(steps[0].text, "Now.\n");
        const [call] = steps[0].toolCalls;
        assert.equal(call.invalid, true);
        assert.match(String(call.error), /truncated: the text ended inside a tool call/);
        assert.equal(steps[0].finishReason, ending === "stop" ? "tool-calls" : ending);
        assert.equal(mock[calls].length, 2);
        assert.match(JSON.stringify(mock[calls][1].prompt.at(-1)), /truncated: the text ended inside a tool call/);
      }
    }
  });

  test(`${name}: a call whose end is not proven is not run`, async () => {
    for (const text of ['{"name": "now", "arguments": {}}', '<tool_call>{"name": "now", "arguments": {}}']) {
      const cutOff = toolbox();
      const { steps } = await run({ model: models([response([text], "length")]).model, prompt: "?", tools: cutOff.tools });
      assert.deepEqual(cutOff.ran, []);
      assert.match(String(steps[0].toolCalls[0].error), /unsealed/);
      const ended = toolbox();
      await run({ model: models([response([text], "stop")]).model, prompt: "?", tools: ended.tools });
      assert.deepEqual(ended.ran, [["now", {}]]);
    }
  });

  test(`${name}: a malformed or ambiguous call is not run`, async () => {
    const cases = [
      ['<tool_call>{"name": "now", "arguments": {"a": }}</tool_call>', /malformed_json/],
      ['<tool_call>{"name": "weather", "arguments": {"city": "Rome", "city": "Paris"}}</tool_call>', /duplicate_key/],
      ['{"name": "now", "arguments": {}, "error": "no idea"}\n', /no idea/],
    ];
    for (const [text, message] of cases) {
      const { ran, tools } = toolbox();
      const rejected = [];
      const { model } = models([text, "Sorry."], { onRejectedCall: (call) => rejected.push(call.code) });
      const { steps } = await run({ model, prompt: "?", tools, stopWhen: isStepCount(2) });
      assert.deepEqual(ran, []);
      assert.equal(steps.length, 2);
      assert.match(String(steps[0].toolCalls[0].error), message);
      assert.equal(rejected.length, text.includes("error") ? 0 : 1);
    }
  });

  test(`${name}: invalid input is the SDK's to judge`, async () => {
    const text = '<tool_call>{"name": "weather", "arguments": {"city": "Paris", "days": "many"}}</tool_call>';
    const { ran, tools } = toolbox();
    const rejected = [];
    const { model, mock } = models([text, "Sorry."], { onRejectedCall: ({ code }) => rejected.push(code) });
    const { steps, calls } = await run({ model, prompt: "?", tools, stopWhen: isStepCount(2) });
    assert.deepEqual(rejected, ["invalid_parameters"]);
    assert.deepEqual(ran, []);
    assert.equal(steps[0].toolCalls[0].error.name, "AI_InvalidToolInputError");
    assert.match(JSON.stringify(mock[calls][1].prompt.at(-1)), /Invalid input for tool weather/);
    // It repairs the call.
    const repaired = toolbox();
    await run({
      model: models([text]).model,
      prompt: "?",
      tools: repaired.tools,
      repairToolCall: async ({ toolCall }) => {
        const { days: _, ...input } = JSON.parse(toolCall.input);
        return { ...toolCall, input: JSON.stringify(input) };
      },
    });
    assert.deepEqual(repaired.ran, [["weather", { city: "Paris" }]]);
    // A schema may accept more than its JSON Schema says.
    const lenient = toolbox();
    const lax = { ...lenient.tools, weather: tool({ ...lenient.tools.weather, inputSchema: z.object({ city: z.string() }) }) };
    await run({ model: models([text]).model, prompt: "?", tools: lax });
    assert.deepEqual(lenient.ran, [["weather", { city: "Paris" }]]);
  });

  test(`${name}: an unknown tool`, async () => {
    const { ran, tools } = toolbox();
    const marked = '<tool_call>{"name": "search", "arguments": {"q": "x"}}</tool_call>';
    const { steps } = await run({ model: models([marked]).model, prompt: "?", tools });
    assert.equal(steps[0].toolCalls[0].error.name, "AI_NoSuchToolError");
    assert.deepEqual(steps[0].toolCalls[0].input, { q: "x" });
    // Without markers, it is an object among others; for a model that was asked for such objects, a call.
    const plain = '{"name": "search", "arguments": {"q": "x"}}';
    assert.equal((await run({ model: models([plain]).model, prompt: "?", tools })).text, plain);
    const asked = await run({ model: models([plain], { toolsInPrompt: true }).model, prompt: "?", tools });
    assert.equal(asked.steps[0].toolCalls[0].error.name, "AI_NoSuchToolError");
    const output = Output.object({ schema: z.object({ name: z.string(), arguments: z.object({ q: z.string() }) }) });
    const structured = await run({ model: models([plain], { toolsInPrompt: true }).model, prompt: "?", tools, output });
    assert.equal(structured.text, plain);
    assert.deepEqual(ran, []);
  });
}

test("a failed response leaves no call behind", async () => {
  const half = 'Now.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Par';
  const whole = HERMES("now", {});
  const error = { type: "error", error: new Error("reset") };
  const [start, ...open] = response([half]).slice(0, 3);
  for (const ending of [[finish("error")], [finish("interrupted")], [], [error], [error, finish("stop")]]) {
    const all = await parts([start, ...open, ...ending]);
    checkShape(all);
    assert.equal(textOf(all), "Now.\n");
    assert.deepEqual(all.filter(({ type }) => type === "tool-call"), []);
    assert.equal(all.filter(({ type }) => type === "tool-input-end").length, 1);
    // One that was complete before is there; the SDK decides.
    const complete = await parts([...response([whole, "\n", half]).slice(0, -2), ...ending]);
    assert.deepEqual(complete.filter(({ type }) => type === "tool-call").map(({ toolName }) => toolName), ["now"]);
  }
});

test("a call that turns out to be none is not completed", async () => {
  const text = '[weather(city="Paris"), now()\nok';
  const expected = [["call", "weather", '{"city":"Paris"}'], ["text", ", now()\nok"], ["finish", "tool-calls"]];
  for (const deltas of cuts(text)) {
    const all = await parts(response(deltas));
    checkShape(all);
    assert.deepEqual(brief(all), expected);
    assert.deepEqual(all.filter(({ type }) => type === "tool-input-start").map(({ toolName }) => toolName), ["weather", "now"]);
    const whole = await parts(response(deltas), { options: { growing: false } });
    assert.deepEqual(brief(whole), expected);
    assert.deepEqual(whole.filter(({ type }) => type === "tool-input-start").map(({ toolName }) => toolName), ["weather"]);
  }
  const { ran, tools } = toolbox();
  const result = streamText({ model: models([text]).model, prompt: "?", tools });
  assert.equal(await result.text, ", now()\nok");
  assert.deepEqual(ran, [["weather", { city: "Paris" }]]);
});

test("a call that begins anew keeps its id", async () => {
  const text =
    "<tool_call>\n<function=weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>";
  for (const deltas of cuts(text, [1, 4])) {
    const all = await parts(response(deltas));
    checkShape(all);
    assert.deepEqual(all.filter(({ type }) => type === "tool-input-start").map(({ id }) => id), ["id1"]);
    const [{ toolCallId, input }] = all.filter(({ type }) => type === "tool-call");
    assert.deepEqual([toolCallId, input], ["id1", '{"city":"Rome"}']);
  }
});

test("parameters in tags have the types of the schema", async () => {
  const text = "<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>";
  const { ran, tools } = toolbox();
  await streamText({ model: models([text]).model, prompt: "?", tools }).consumeStream();
  assert.deepEqual(ran, [["weather", { city: "12", days: 3 }]]);
});

test("numbers keep their digits", async () => {
  const text = '<tool_call>{"name": "big", "arguments": {"n": 123456789012345678901234567890.10}}</tool_call>';
  const big = { type: "function", name: "big", inputSchema: { type: "object" } };
  const all = await parts(response([text]), { tools: [big] });
  assert.equal(all.find(({ type }) => type === "tool-call").input, '{"n": 123456789012345678901234567890.10}');
});

test("without growing, a call comes whole", async () => {
  for (const deltas of cuts(TURN, [1, 4])) {
    const all = await parts(response(deltas), { options: { growing: false } });
    checkShape(all);
    const at = all.findIndex(({ type }) => type === "tool-input-start");
    assert.deepEqual(all.slice(at, at + 4).map(({ type }) => type), ["tool-input-start", "tool-input-delta", "tool-input-end", "tool-call"]);
    assert.deepEqual(joined(all), joined(await parts(response(deltas))));
  }
});

test("other parts pass untouched", async () => {
  const others = [
    { type: "response-metadata", id: "r1", modelId: "m" },
    { type: "raw", rawValue: { a: 1 } },
    { type: "ping" },
    { type: "reasoning-start", id: "0", providerMetadata: { p: { s: 1 } } },
    { type: "reasoning-delta", id: "0", delta: HERMES("now", {}) },
    { type: "reasoning-end", id: "0" },
    { type: "source", sourceType: "url", id: "s", url: "https://example.com" },
    { type: "file", mediaType: "image/png", data: { type: "data", data: "AA==" } },
    { type: "tool-input-start", id: "native", toolName: "now" },
    { type: "tool-input-delta", id: "native", delta: "{}" },
    { type: "tool-input-end", id: "native" },
    { type: "tool-call", toolCallId: "native", toolName: "now", input: "{}" },
    { type: "tool-result", toolCallId: "native", toolName: "now", result: 1 },
    { type: "custom", kind: "a.b" },
    { type: "error", error: new Error("once") },
    { type: "text-delta", id: "never-started", delta: "x" },
    { type: "text-end", id: "never-started" },
  ];
  const all = await parts([{ type: "stream-start", warnings: [] }, ...others, finish("tool-calls")]);
  assert.equal(all.length, others.length + 2);
  for (const [at, other] of others.entries()) assert.equal(all[at + 1], other);
  // Between texts too.
  const [source] = others.filter(({ type }) => type === "source");
  const [file] = others.filter(({ type }) => type === "file");
  const between = await parts([...block(["one"], "a"), source, file, ...block([HERMES("now", {})], "b"), ...block(["two"], "c"), finish()]);
  assert.deepEqual(between.map(({ type, id }) => `${type} ${id ?? ""}`.trim()), [
    "source s",
    "text-start a",
    "text-delta a",
    "text-end a",
    "file",
    "tool-input-start id1",
    "tool-input-delta id1",
    "tool-input-end id1",
    "tool-call",
    "text-start c",
    "text-delta c",
    "text-end c",
    "finish",
  ]);
});

test("a text that another part follows is complete", async () => {
  const text = '{"name": "now", "arguments": {}}';
  const next = { type: "reasoning-start", id: "r" };
  const all = await parts([...block([text]), next, { type: "reasoning-end", id: "r" }, finish("length")]);
  assert.deepEqual(brief(all), [["call", "now", "{}"], ["finish", "length"]]);
  assert(all.findIndex(({ type }) => type === "tool-call") < all.indexOf(next));
  const source = { type: "source", sourceType: "url", id: "s", url: "https://example.com" };
  const last = await parts([...block([text]), { type: "raw", rawValue: 1 }, source, finish("length")]);
  assert.match(brief(last)[0][2], /unsealed/);
  const doGenerate = async () => ({ content: [{ type: "text", text }, source], ...finish("length"), warnings: [] });
  const made = await middleware().wrapGenerate({ doGenerate, params: { prompt: [], tools: FUNCTIONS }, model: { doGenerate } });
  assert.match(made.content[0].input, /unsealed/);
});

test("metadata and citations stay with the text", async () => {
  const meta = (value) => ({ providerMetadata: { p: { value } } });
  const chunks = (...deltas) => [
    { type: "text-start", id: "0", ...meta("start") },
    ...deltas.map((delta) => ({ type: "text-delta", id: "0", delta })),
    { type: "text-delta", id: "0", delta: "", ...meta("signature") },
    { type: "text-end", id: "0", citations: [{ c: 1 }], ...meta("end") },
    finish(),
  ];
  const plain = await parts(chunks("Hel", "lo, "));
  assert.deepEqual(joined(plain).slice(0, -1), [
    { type: "text-start", id: "0", ...meta("start") },
    { type: "text-delta", id: "0", delta: "Hello, ", ...meta("signature") },
    { type: "text-end", id: "0", citations: [{ c: 1 }], ...meta("end") },
  ]);
  const signed = plain.filter(({ providerMetadata }) => providerMetadata?.p.value === "signature");
  assert.deepEqual(signed, [{ type: "text-delta", id: "0", delta: "", ...meta("signature") }]);
  // The metadata of the end are of the whole text, and that is no part any more.
  assert.deepEqual(joined(await parts(chunks("A\n", HERMES("now", {}), "B"))).filter(({ type }) => type.startsWith("text")), [
    { type: "text-start", id: "0", ...meta("start") },
    { type: "text-delta", id: "0", delta: "A\n" },
    { type: "text-end", id: "0" },
    { type: "text-start", id: "0:2" },
    { type: "text-delta", id: "0:2", delta: "B", ...meta("signature") },
    { type: "text-end", id: "0:2", citations: [{ c: 1 }] },
  ]);
  const none = await parts(chunks(HERMES("now", {})));
  assert.deepEqual(none.filter(({ type }) => type.startsWith("text")), [
    { type: "text-start", id: "0", ...meta("start") },
    { type: "text-delta", id: "0", delta: "", ...meta("signature") },
    { type: "text-end", id: "0", citations: [{ c: 1 }] },
  ]);
  const empty = [{ type: "text-start", id: "0" }, { type: "text-end", id: "0", ...meta("end") }, finish()];
  assert.deepEqual(await parts(empty), empty);
});

test("generated content keeps its parts", async () => {
  const content = [
    { type: "reasoning", text: "hm" },
    { type: "text", text: "plain", providerMetadata: { p: { a: 1 } }, citations: [{ c: 1 }] },
    { type: "text", text: `A\n${HERMES("now", {})}\nB`, providerMetadata: { p: { b: 1 } }, citations: [{ c: 2 }] },
    { type: "tool-call", toolCallId: "id1", toolName: "now", input: "{}" },
    { type: "source", sourceType: "url", id: "s", url: "https://example.com" },
  ];
  const given = { content, finishReason: { unified: "stop", raw: "end" }, usage: USAGE, warnings: [], response: { id: "r" } };
  const doGenerate = async () => given;
  const made = await middleware().wrapGenerate({ doGenerate, params: { prompt: [], tools: FUNCTIONS }, model: { doGenerate } });
  assert.deepEqual(made, {
    ...given,
    content: [
      content[0],
      content[1],
      { type: "text", text: "A\n", providerMetadata: { p: { b: 1 } } },
      // The id that a native call has is not given twice.
      { type: "tool-call", toolCallId: "id2", toolName: "now", input: "{}" },
      { type: "text", text: "B", citations: [{ c: 2 }] },
      content[3],
      content[4],
    ],
    finishReason: { unified: "tool-calls", raw: "end" },
  });
});

test("reasoning in the text becomes reasoning, and calls in it are none", async () => {
  const text = `<think>Use ${HERMES("now", {})}?</think>\nHi.\n${HERMES("now", {})}`;
  for (const deltas of cuts(text, [1, 5])) {
    const all = await parts(response(deltas));
    checkShape(all);
    assert.deepEqual(brief(all), [
      ["reasoning", `Use ${HERMES("now", {})}?`],
      ["text", "Hi.\n"],
      ["call", "now", "{}"],
      ["finish", "tool-calls"],
    ]);
  }
  const opened = await parts(response(["Use it?</think>Hi."]), { options: { inReasoning: true } });
  assert.deepEqual(brief(opened), [["reasoning", "Use it?"], ["text", "Hi."], ["finish", "stop"]]);
});

test("without tools, or where none may be called, everything passes", async () => {
  const stream = convertArrayToReadableStream(response([TURN]));
  const doStream = async () => ({ stream, request: { body: "b" } });
  for (const params of [{}, { tools: [] }, { tools: FUNCTIONS, toolChoice: { type: "none" } }]) {
    const result = await middleware().wrapStream({ doStream, params: { prompt: [], ...params }, model: { doStream } });
    assert.equal(result.stream, stream);
    assert.deepEqual(result.request, { body: "b" });
  }
  const { ran, tools } = toolbox();
  const { text, steps } = await generateText({ model: models([TURN]).model, prompt: "?", tools, toolChoice: "none" });
  assert.equal(text, TURN);
  assert.equal(steps.length, 1);
  assert.deepEqual(ran, []);
});

test("ids: the model's if they are unique", async () => {
  const calls = (...ids) =>
    `<|START_ACTION|>${JSON.stringify(ids.map((id) => ({ tool_call_id: id, tool_name: "now", parameters: {} })))}<|END_ACTION|>`;
  const idsOf = (all) => all.flatMap(({ type, toolCallId }) => (type === "tool-call" ? [toolCallId] : []));
  assert.deepEqual(idsOf(await parts(response([calls("aaaaaaaaa", "bbbbbbbbb")]))), ["aaaaaaaaa", "bbbbbbbbb"]);
  assert.deepEqual(idsOf(await parts(response([calls("aaaaaaaaa", "aaaaaaaaa")]))), ["aaaaaaaaa", "id1"]);
  const prompt = [{ role: "assistant", content: [{ type: "tool-call", toolCallId: "aaaaaaaaa", toolName: "now", input: {} }] }];
  assert.deepEqual(idsOf(await parts(response([calls("aaaaaaaaa")]), { prompt })), ["id1"]);
  const native = { type: "tool-call", toolCallId: "id1", toolName: "now", input: "{}" };
  assert.deepEqual(idsOf(await parts([native, ...response([HERMES("now", {})])])), ["id1", "id2"]);
  // One that comes too late for a call that is already shown.
  const late = ['[TOOL_CALLS]now[CALL_ID]aaaaaaaaa[ARGS]{}'];
  assert.deepEqual(idsOf(await parts(response(late))), ["id1"]);
  assert.deepEqual(idsOf(await parts(response(late), { options: { growing: false } })), ["aaaaaaaaa"]);
  // A generator that repeats itself.
  const same = { options: { generateId: () => "same" } };
  const repeated = idsOf(await parts(response([HERMES("now", {}) + HERMES("now", {})]), same));
  assert.equal(new Set(repeated).size, 2);
  // Those that are made up suit every server.
  const random = { options: { generateId: undefined } };
  const [id] = idsOf(await parts(response([HERMES("now", {})]), random));
  assert.match(id, /^[A-Za-z0-9]{9}$/);
});

test("the prompt has the wording of tokenline-prompt", async () => {
  for (const name of ["hermes", "qwen3"]) {
    const template = readFileSync(path(`crates/tokenline-prompt/src/tools/templates/${name}.txt`), "utf8");
    const parts = /\{%- if tools is defined -%\}\n(.*)\n\{%- elif calls is defined -%\}\n(.*)\n\{%- else -%\}\n(.*)\{%- endif %\}/s;
    const [, tools, calls, results] = parts.exec(template);
    const line = '{"type": "function", "function": ';
    const expected = tools.replace(
      /\n\{%- for tool in tools %\}\n.*\n\{%- endfor %\}/,
      `\n${line}{"name": "weather", "description": "The weather of a city.", "parameters": {"type": "object", "properties": ` +
        `{"city": {"type": "string"}, "days": {"type": "integer"}}, "additionalProperties": false}}}\n` +
        `${line}{"name": "now", "parameters": {"type": "object", "properties": {}, "additionalProperties": false}}}`,
    );
    assert.match(tools, /\n\{"type": "function", "function": \{\{ tool\.function\|tojson \}\}\}\n/);
    const requests = [];
    const doStream = async (request) => {
      requests.push(request);
      return { stream: convertArrayToReadableStream(response([""])) };
    };
    const output = { type: "text", value: "12:00" };
    const prompt = [
      { role: "user", content: [{ type: "text", text: "?" }] },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "1", toolName: "now", input: {} }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "1", toolName: "now", output }] },
    ];
    await middleware({ toolsInPrompt: name }).wrapStream({ params: { prompt, tools: FUNCTIONS }, model: { doStream } });
    const [{ prompt: written }] = requests;
    assert.deepEqual(written[0], { role: "system", content: expected });
    // The example call in it, in form.
    const [, , call] = tools.match(/(<tool_call>\n)(\{.*\})\n<\/tool_call>/);
    assert.deepEqual(Object.keys(JSON.parse(call)), ["name", "arguments"]);
    const [, one] = /^\{%- for call in calls -%\}\n(.*)\{\{ "\\n" if not loop\.last \}\}\n\{%- endfor %\}$/s.exec(calls);
    const earlier = one.replace("{{ call.name|tojson }}", '"now"').replace("{{ call.arguments|tojson }}", "{}");
    assert.equal(written[2].content[0].text, earlier);
    const [, result] = /\n(<tool_response>.*<\/tool_response>)\n/s.exec(results);
    assert.equal(written[3].content[0].text, result.replace("{{ result.content }}", "12:00"));
  }
});

test("the messages of a loop as text", async () => {
  const requests = [];
  const doStream = async (request) => {
    requests.push(request);
    return { stream: convertArrayToReadableStream(response(["ok"])) };
  };
  const result = (id, output) => ({ type: "tool-result", toolCallId: id, toolName: "now", output });
  const call = (id, more) => ({ type: "tool-call", toolCallId: id, toolName: "now", input: { id }, ...more });
  const file = { type: "file", mediaType: "image/png", data: { type: "data", data: "AA==" } };
  const provider = { type: "provider", id: "p.search", name: "search", args: {} };
  const cache = { providerOptions: { p: { cache: true } } };
  const prompt = [
    { role: "system", content: "One." },
    { role: "system", content: "Two.\n", ...cache },
    { role: "user", content: [{ type: "text", text: "?" }, file] },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "Look:", ...cache },
        call("1"),
        call("2"),
        call("3", { providerExecuted: true }),
      ],
    },
    { role: "tool", content: [result("1", { type: "json", value: { a: [1] } }), result("2", { type: "error-text", value: "no" })] },
    {
      role: "tool",
      content: [
        result("4", { type: "execution-denied" }),
        result("5", { type: "content", value: [{ type: "text", text: "a" }, file, { type: "text", text: "b" }] }),
        { type: "tool-approval-response", approvalId: "x", approved: true },
      ],
    },
    { role: "user", content: [{ type: "text", text: "And?" }], ...cache },
    { role: "assistant", content: [{ type: "text", text: "So." }] },
  ];
  const before = structuredClone(prompt);
  const params = { prompt, tools: [...FUNCTIONS, provider], temperature: 0.5 };
  const write = {
    tools: (tools, toolChoice) => `${tools.map((tool) => tool.name)} ${toolChoice.type}`,
    call: ({ id, name }) => `(call ${name} ${id})`,
    result: ({ id, content, isError }) => `(${isError ? "error" : "result"} ${id} ${content})`,
  };
  await middleware({ toolsInPrompt: write }).wrapStream({ params, model: { doStream } });
  assert.deepEqual(prompt, before);
  const [request] = requests;
  assert.deepEqual(request, {
    prompt: [
      { role: "system", content: "One." },
      { role: "system", content: "Two.\n\nweather,now auto", ...cache },
      prompt[2],
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "Look:", ...cache },
          { type: "text", text: "\n(call now 1)" },
          { type: "text", text: "\n(call now 2)" },
          call("3", { providerExecuted: true }),
        ],
      },
      {
        role: "user",
        content: [
          { type: "text", text: '(result 1 {"a":[1]})\n(error 2 no)' },
          { type: "text", text: "(error 4 Tool call execution denied.)\n(result 5 a\nb)" },
          file,
          { type: "text", text: "And?" },
        ],
        ...cache,
      },
      prompt.at(-1),
    ],
    tools: [provider],
    temperature: 0.5,
  });
  // The choice.
  const systemFor = async (toolChoice) => {
    const params = { prompt: [], tools: FUNCTIONS, toolChoice };
    await middleware({ toolsInPrompt: true }).wrapStream({ params, model: { doStream } });
    return requests.at(-1).prompt.map(({ content }) => content).join("");
  };
  assert.match(await systemFor({ type: "required" }), /\n\nCall at least one of these functions\.$/);
  assert.match(await systemFor({ type: "tool", toolName: "now" }), /\n\nCall the function `now`\.$/);
  assert.equal(await systemFor({ type: "none" }), "");
});

test("a schema that cannot be compiled is the SDK's alone", async () => {
  const odd = { type: "string", pattern: "^(?<!a)(?=b)\\p{L}" };
  for (const inputSchema of [
    { type: "object", properties: { city: odd, days: { type: "integer" } } },
    { $ref: "https://example.com/schema" },
  ]) {
    const tools = [{ type: "function", name: "weather", inputSchema }, FUNCTIONS[1]];
    const all = await parts(response([HERMES("weather", { city: "b" }), HERMES("now", {})]), { tools });
    assert.deepEqual(brief(all).slice(0, 2), [["call", "weather", '{"city":"b"}'], ["call", "now", "{}"]]);
  }
  // Nor has the SDK anything to validate with: the tool does it.
  const ran = [];
  const free = tool({ inputSchema: jsonSchema({ type: "object", required: ["q"] }), execute: async (input) => void ran.push(input) });
  await generateText({ model: models([HERMES("free", { p: 1 })]).model, prompt: "?", tools: { free } });
  assert.deepEqual(ran, [{ p: 1 }]);
});

test("options", async () => {
  assert.throws(() => extractToolCallsMiddleware({ toolInPrompt: true }), /no option `toolInPrompt`/);
  assert.throws(() => extractToolCallsMiddleware({ toolsInPrompt: "klingon" }), /unknown toolsInPrompt "klingon"/);
  assert.throws(() => extractToolCallsMiddleware({ growing: 1 }), /`growing` must be a boolean/);
  assert.throws(() => extractToolCallsMiddleware({ lineBytes: -1 }), /`lineBytes` must be a whole number/);
  await assert.rejects(parts(response([TURN]), { options: { callFormat: "klingon" } }), /callFormat/);
  // The module from elsewhere, for a runtime that cannot compile one.
  const { default: base64 } = await import("../dist/builds/schema.js");
  const module = new WebAssembly.Module(Buffer.from(base64, "base64"));
  assert.deepEqual(brief(await parts(response([HERMES("now", {})]), { options: { module } }))[0], ["call", "now", "{}"]);
});

test("mutated calls: what begins ends, and no cut matters", async () => {
  let seed = 7;
  const random = (below) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  const rounds = process.env.TOKENLINE_EXHAUSTIVE === "1" ? 60 : 12;
  for (const { example } of SYNTAXES) {
    for (let round = 0; round < rounds; round++) {
      const chars = [..."Hi.\n", ...example, ..."\nok"];
      const at = random(chars.length);
      if (round % 4 === 0) chars.splice(at, 1 + random(4));
      else if (round % 4 === 1) chars.splice(at, 0, ['"', "}", "\n", "<", "{", "`"][random(6)]);
      else if (round % 4 === 2) chars.length = at + 1;
      else chars.splice(at, 0, ...chars.slice(at, at + 1 + random(12)));
      const text = chars.join("");
      const ending = ["stop", "length", "error"][random(3)];
      let expected;
      for (const size of [1, 3, chars.length]) {
        const all = await parts(response(cut(text, size), ending));
        checkShape(all);
        expected ??= joined(all);
        assert.deepEqual(joined(all), expected, text);
      }
    }
  }
});
