// Anthropic messages, decoded by `@anthropic-ai/sdk`.

import Anthropic from '@anthropic-ai/sdk';
import { failure } from './answer.mjs';

export const provider = 'anthropic';
export const extension = 'sse';

/** Asks for a stream and gathers what the SDK makes of it. */
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
  // The SDK shows partial input as an object too; only a block that has stopped is a whole call.
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
  const { text, reasoning, calls, opened, message } = seen;
  return {
    text,
    reasoning,
    refusal: '',
    calls,
    cut: opened.slice(calls.length).map((name) => ({ name })),
    reason: message?.stop_reason ?? null,
    usage: message && [message.usage.input_tokens, message.usage.output_tokens],
    ended: !error,
    error,
  };
}
