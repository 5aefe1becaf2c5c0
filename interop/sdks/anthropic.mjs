// Anthropic messages, decoded by `@anthropic-ai/sdk`.

import Anthropic from '@anthropic-ai/sdk';
import { drain, failure } from './response.mjs';

export const provider = 'anthropic';
export const extension = 'sse';

/** Requests a stream, and collects what the SDK decodes. */
export async function ask({ url, model, prompt, signal }) {
  const client = new Anthropic({
    baseURL: url,
    apiKey: 'none',
    authToken: null,
    maxRetries: 0,
    logLevel: 'off',
  });
  const stream = client.messages.stream(
    { model, max_tokens: 1000, messages: [{ role: 'user', content: prompt }] },
    { signal },
  );
  const seen = { text: '', reasoning: '', calls: [], opened: [], message: null };
  stream.on('text', (text) => (seen.text += text));
  stream.on('thinking', (text) => (seen.reasoning += text));
  stream.on('streamEvent', (event, message) => {
    seen.message = message;
    if (event.type === 'content_block_start' && event.content_block.type === 'tool_use') {
      seen.opened.push(event.content_block.name);
    }
  });
  // The SDK shows partial input as an object, too; only a stopped block is a complete call.
  stream.on('contentBlock', (block) => {
    if (block.type !== 'tool_use') return;
    seen.calls.push({ id: block.id, name: block.name, arguments: structuredClone(block.input) });
  });
  let error = null;
  try {
    await stream.finalMessage();
  } catch (thrown) {
    error = failure(thrown);
  }
  const { message } = seen;
  return {
    ...(error ? broken(seen) : whole(seen)),
    opaque: message?.content.map(({ signature, data }) => signature || data).filter(Boolean),
    refusal: message?.stop_details?.explanation ?? '',
    reason: message?.stop_reason ?? null,
    usage: message && used(message.usage),
    ended: !error,
    error,
  };
}

function broken({ text, reasoning, calls, opened }) {
  return { text, reasoning, calls, cut: opened.slice(calls.length).map((name) => ({ name })) };
}

function whole(seen) {
  const of = (type) => seen.message.content.filter((block) => block.type === type);
  const text = of('text').map((block) => block.text);
  const thinking = of('thinking').map((block) => block.thinking);
  const both = { text: text.join(''), reasoning: thinking.join('') };
  // Only with this reason are all calls complete; otherwise the input of the last one may be truncated.
  if (seen.message.stop_reason !== 'tool_use') return { ...broken(seen), ...both };
  const calls = of('tool_use').map(({ id, name, input }) => ({ id, name, arguments: structuredClone(input) }));
  return { ...both, calls, cut: [] };
}

/** Anthropic's `input_tokens` exclude cache reads and writes. */
function used(usage) {
  const { input_tokens, cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
  return [input_tokens + (written ?? 0) + (read ?? 0), usage.output_tokens];
}

/** Sends `request` (see `requests.mjs`) with the SDK; ignores the response. */
export async function send({ url, key, request, signal }) {
  const { model, system, messages, tools, schema, maxTokens, temperature } = request;
  const client = new Anthropic({ baseURL: url, apiKey: key, authToken: null, maxRetries: 0, logLevel: 'off' });
  const stream = await client.messages.create(
    {
      model,
      max_tokens: maxTokens ?? 8192, // required; tokenline's default
      system,
      messages: turns(messages),
      tools: tools?.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
      output_config: schema && { format: { type: 'json_schema', schema } },
      temperature,
      stream: true,
    },
    { signal },
  );
  await drain(stream);
}

/** Results belong to the user; consecutive content of one role is one message. */
function turns(messages) {
  const all = [];
  for (const message of messages) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    if (all.at(-1)?.role !== role) all.push({ role, content: [] });
    all.at(-1).content.push(...blocks(message));
  }
  return all;
}

function blocks({ role, content, tool_calls: calls = [], tool_call_id: tool_use_id }) {
  if (role === 'tool') return [{ type: 'tool_result', tool_use_id, content }];
  const said = content ? [{ type: 'text', text: content }] : [];
  const used = calls.map(({ id, function: { name, arguments: text } }) => ({
    type: 'tool_use',
    id,
    name,
    input: JSON.parse(text),
  }));
  return [...said, ...used];
}
