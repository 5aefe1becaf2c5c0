// Tool calls from recordings of OpenAI and Anthropic, beside the stream helpers of their SDKs:
//   node bench/sdks.mjs [DIRECTORY]     recordings openai-chat.*.txt and anthropic.*.txt, an event a line, in DIRECTORY;
//                                       without one, the fixtures of the Rust crates
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import { toolCalls } from "../dist/providers.js";
import { timed } from "./corpora.mjs";

const fixtures = fileURLToPath(new URL("../../crates/tokenline-llm/fixtures", import.meta.url));
const directory = process.argv[2];
/** How often each recording is read in a round: they are short. */
const TIMES = 200;

function recordings(provider) {
  if (directory) {
    const files = readdirSync(directory).filter((file) => file.startsWith(`${provider}.`) && /tool/.test(file));
    return files.map((file) => {
      const events = readFileSync(join(directory, file), "utf8").trim().split("\n");
      const event = (line) => (provider === "anthropic" ? `event: ${JSON.parse(line).type}\ndata: ${line}\n\n` : `data: ${line}\n\n`);
      const end = provider === "openai-chat" && !events.includes("[DONE]") ? "data: [DONE]\n\n" : "";
      return { name: file, text: events.map(event).join("") + end };
    });
  }
  const names = { "openai-chat": ["parallel-tools", "tool-call", "tool-calls"], anthropic: ["tool-use", "parallel-tools", "thinking-then-tool", "text-then-tool"] };
  return readdirSync(join(fixtures, provider))
    .filter((file) => names[provider].includes(file.replace(/\.sse$/, "")))
    .map((file) => ({ name: file, text: readFileSync(join(fixtures, provider, file), "utf8") }));
}

const headers = { "content-type": "text/event-stream" };
/** A response in chunks as a network would cut them. */
function response(text) {
  const bytes = new TextEncoder().encode(text);
  return new Response(
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 1400) controller.enqueue(bytes.subarray(at, at + 1400));
        controller.close();
      },
    }),
    { headers },
  );
}

const clients = {
  "openai-chat": async (text) => {
    const client = new OpenAI({ apiKey: "none", fetch: async () => response(text) });
    const stream = client.chat.completions.stream({ model: "m", messages: [] });
    const { choices } = await stream.finalChatCompletion();
    return choices.flatMap((choice) => choice.message.tool_calls ?? []).map((call) => JSON.parse(call.function.arguments || "{}")).length;
  },
  anthropic: async (text) => {
    const client = new Anthropic({ apiKey: "none", fetch: async () => response(text) });
    const { content } = await client.messages.stream({ model: "m", max_tokens: 1, messages: [] }).finalMessage();
    return content.filter((part) => part.type === "tool_use").length;
  },
};

for (const provider of ["openai-chat", "anthropic"]) {
  for (const { name, text } of recordings(provider)) {
    const events = text.split("\n\n").filter((event) => event.includes("data:")).length;
    const ours = async () => (await toolCalls(response(text), { provider }).toArray()).length;
    const [sdk, found] = [await clients[provider](text).catch((error) => `fails: ${error.message}`), await ours()];
    const many = (read) => async () => {
      for (let time = 0; time < TIMES; time++) await read();
    };
    const subjects = { tokenline: many(ours) };
    if (typeof sdk === "number") subjects.sdk = many(() => clients[provider](text));
    const times = await timed(5, subjects);
    const rate = (time) => `${Math.round((events * TIMES) / time).toLocaleString("en")} events/ms`;
    console.log(`${name}: ${events} events, ${found} calls (SDK: ${sdk}): tokenline ${rate(times.tokenline)}${times.sdk ? `, SDK ${rate(times.sdk)}, ${(times.sdk / times.tokenline).toFixed(1)} times` : ""}`);
  }
}
