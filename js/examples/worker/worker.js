// A Cloudflare Worker: passes a model's tool calls on as JSON Lines, each once it is proved complete.
import module from "tokenline/providers.wasm";
import { initSync } from "tokenline/slim";

const { ToolCallTransform } = initSync(module);

const lines = () => {
  const encoder = new TextEncoder();
  return new TransformStream({
    transform: ({ name, parameters }, controller) =>
      controller.enqueue(encoder.encode(`${JSON.stringify({ name, parameters })}\n`)),
  });
};

export default {
  /** @param {Request} request @param {{ MODEL_URL: string }} env */
  async fetch(request, env) {
    const upstream = await fetch(env.MODEL_URL, { method: "POST", headers: request.headers, body: request.body });
    if (!upstream.ok || !upstream.body) return upstream;
    const calls = upstream.body.pipeThrough(new ToolCallTransform({ provider: "openai-chat" }));
    return new Response(calls.pipeThrough(lines()), { headers: { "content-type": "application/x-ndjson" } });
  },
};
