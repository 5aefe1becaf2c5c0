// Ollama /api/chat, decoded by the `ollama` package.

import { Ollama } from 'ollama';
import { drain, failure } from './answer.mjs';

export const provider = 'ollama';
export const extension = 'ndjson';

/** Asks for a stream and gathers what the SDK makes of it. */
export async function ask({ url, model, prompt, signal }) {
  // `tokenline replay` has no `/api/generate`; it serves what was recorded there at `/api/chat`.
  const send = (to, init) => fetch(to.replace(/generate$/, 'chat'), { ...init, signal });
  const client = new Ollama({ host: url, fetch: send });
  const answer = {
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
      answer.text += content ?? '';
      answer.reasoning += thinking ?? '';
      for (const { id, function: call } of calls ?? []) {
        answer.calls.push({ id, name: call.name, arguments: call.arguments });
      }
      if (!part.done) continue;
      answer.reason = part.done_reason ?? null;
      answer.usage = [part.prompt_eval_count, part.eval_count];
    }
  } catch (thrown) {
    answer.error = failure(thrown);
  }
  // The SDK itself throws when no line said `done`.
  return { ...answer, ended: !answer.error };
}

/** Asks what `request` says (see `requests.mjs`) in the SDK's own words; what comes back is not looked at. */
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

/** Without ids: a result is that of the tool it names. */
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
