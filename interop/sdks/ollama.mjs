// Ollama /api/chat, decoded by the `ollama` package.

import { Ollama } from 'ollama';
import { drain, failure } from './response.mjs';

export const provider = 'ollama';
export const extension = 'ndjson';

/** Requests a stream, and collects what the SDK decodes. */
export async function ask({ url, model, prompt, signal }) {
  // `tokenline replay` has no `/api/generate`; it serves those recordings at `/api/chat`.
  const send = (to, init) => fetch(to.replace(/generate$/, 'chat'), { ...init, signal });
  const client = new Ollama({ host: url, fetch: send });
  const response = {
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    cut: [],
    reason: null,
    usage: null,
    error: null,
  };
  try {
    const parts = model.startsWith('generate')
      ? await client.generate({ model, prompt, stream: true })
      : await client.chat({ model, messages: [{ role: 'user', content: prompt }], stream: true });
    for await (const part of parts) {
      const { content, thinking, tool_calls: calls } =
        part.message ?? { content: part.response, thinking: part.thinking };
      response.text += content ?? '';
      response.reasoning += thinking ?? '';
      for (const { id, function: call } of calls ?? []) {
        response.calls.push({ id, name: call.name, arguments: call.arguments });
      }
      if (!part.done) continue;
      response.reason = part.done_reason ?? null;
      response.usage = [part.prompt_eval_count, part.eval_count];
    }
  } catch (thrown) {
    response.error = failure(thrown);
  }
  // The SDK throws if no line has `done`.
  return { ...response, ended: !response.error };
}

/** Sends `request` (see `requests.mjs`) with the SDK; ignores the response. */
export async function send({ url, key, request, signal }) {
  const { model, system, messages, tools, schema, maxTokens, temperature } = request;
  const client = new Ollama({
    host: url,
    headers: { Authorization: `Bearer ${key}` },
    fetch: (to, init) => fetch(to, { ...init, signal }),
  });
  const said = messages.map((message) => inOllamas(message, messages));
  const options = { num_predict: maxTokens, temperature };
  const parts = await client.chat({
    model,
    messages: system ? [{ role: 'system', content: system }, ...said] : said,
    tools: tools?.map((tool) => ({ type: 'function', function: tool })),
    format: schema,
    options: maxTokens || temperature !== undefined ? options : undefined,
    stream: true,
  });
  await drain(parts);
}

/** Without ids: a result names its tool. */
function inOllamas({ role, content, tool_calls: calls, tool_call_id: id }, messages) {
  const called = messages.flatMap((message) => message.tool_calls ?? []).find((call) => call.id === id);
  return {
    role,
    content: content ?? '',
    tool_calls: calls?.map(({ function: { name, arguments: text } }) => ({
      function: { name, arguments: JSON.parse(text) },
    })),
    tool_name: called?.function.name,
  };
}
