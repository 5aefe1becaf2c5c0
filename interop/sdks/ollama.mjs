// Ollama /api/chat, decoded by the `ollama` package.

import { Ollama } from 'ollama';
import { failure } from './answer.mjs';

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
