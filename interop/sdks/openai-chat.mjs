// OpenAI chat completions, decoded by the `openai` package.

import OpenAI from 'openai';
import { drain, failure, parsedCalls } from './response.mjs';

export const provider = 'openai-chat';
export const extension = 'sse';

/** Requests a stream, and collects what the SDK decodes. */
export async function ask({ url, model, prompt, signal }) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0, logLevel: 'off' });
  const stream = client.chat.completions.stream(
    { model, messages: [{ role: 'user', content: prompt }], stream_options: { include_usage: true } },
    { signal },
  );
  const seen = { reasoning: '', message: {}, reason: null, usage: null };
  stream.on('chunk', (chunk, snapshot) => {
    const choice = snapshot.choices[0];
    // The SDK drops its snapshot if the stream breaks, so keep a copy.
    seen.message = choice?.message ?? seen.message;
    seen.reason = choice?.finish_reason ?? seen.reason;
    seen.usage = chunk.usage ?? seen.usage;
    // The SDK does not support reasoning: it keeps only the last fragment, so join them here.
    const delta = chunk.choices.find(({ index }) => index === 0)?.delta;
    seen.reasoning += delta?.reasoning_content ?? delta?.reasoning ?? '';
  });
  let error = null;
  try {
    await stream.finalChatCompletion();
  } catch (thrown) {
    error = failure(thrown);
  }
  const { message, reason, usage } = seen;
  const raw = (message.tool_calls ?? []).map((call) => ({
    id: call.id,
    name: call.function?.name,
    text: call.function?.arguments ?? '',
  }));
  return {
    text: message.content ?? '',
    reasoning: seen.reasoning,
    refusal: message.refusal ?? '',
    ...parsedCalls(raw, !error),
    reason,
    usage: usage && [usage.prompt_tokens, usage.completion_tokens],
    ended: !error,
    error,
  };
}

/** Sends `request` (see `requests.mjs`) with the SDK; ignores the response. */
export async function send({ url, key, request, signal }) {
  const { model, system, messages, tools, schema, maxTokens, temperature } = request;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, logLevel: 'off' });
  const stream = await client.chat.completions.create(
    {
      model,
      messages: system ? [{ role: 'system', content: system }, ...messages] : messages,
      tools: tools?.map((tool) => ({ type: 'function', function: tool })),
      response_format: schema && {
        type: 'json_schema',
        json_schema: { name: 'answer', schema, strict: true },
      },
      // Only OpenAI itself has the new name, `max_completion_tokens`.
      max_tokens: maxTokens,
      temperature,
      stream: true,
      stream_options: { include_usage: true },
    },
    { signal },
  );
  await drain(stream);
}
