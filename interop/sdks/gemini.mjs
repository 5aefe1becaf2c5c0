// Gemini streamGenerateContent, decoded by `@google/genai`.

import { GoogleGenAI } from '@google/genai';
import { failure } from './answer.mjs';

export const provider = 'gemini';
export const extension = 'sse';

/** Asks for a stream and gathers what the SDK makes of it. */
export async function ask({ url, model, prompt, signal }) {
  const client = new GoogleGenAI({ apiKey: 'none', vertexai: false, httpOptions: { baseUrl: url } });
  const answer = {
    text: '',
    reasoning: '',
    refusal: '',
    reason: null,
    usage: null,
    error: null,
  };
  const raw = [];
  try {
    const chunks = await client.models.generateContentStream({
      model,
      contents: prompt,
      config: { abortSignal: signal },
    });
    for await (const chunk of chunks) {
      const { content, finishReason } = chunk.candidates?.find(({ index }) => !index) ?? {};
      for (const part of content?.parts ?? []) {
        if (part.text) answer[part.thought ? 'reasoning' : 'text'] += part.text;
        // What has no name is more of a call before it. The SDK hands it on, and leaves joining it to others.
        if (part.functionCall?.name) raw.push(part.functionCall);
      }
      const { blockReason, blockReasonMessage } = chunk.promptFeedback ?? {};
      answer.refusal += blockReasonMessage ?? '';
      answer.reason = finishReason ?? blockReason ?? answer.reason;
      if (chunk.usageMetadata) answer.usage = used(chunk.usageMetadata);
    }
  } catch (thrown) {
    answer.error = failure(thrown);
  }
  // Nothing ends a stream of Gemini's but its last chunk, which says why it is the last.
  const ended = !answer.error && answer.reason !== null;
  return { ...answer, ...sorted(raw, ended && answer.reason !== 'MAX_TOKENS'), ended };
}

function sorted(raw, isWhole) {
  const calls = [];
  const cut = [];
  for (const { id, name, args, partialArgs, willContinue } of raw) {
    // No arguments at all are `{}`, but only the end proves that none were to follow.
    const none = isWhole && !partialArgs ? {} : undefined;
    if (!willContinue && (args ?? none)) calls.push({ id, name, arguments: args ?? none });
    else cut.push({ name });
  }
  return { calls, cut };
}

/** Thoughts are not among the candidates' tokens, nor what tools of the server said among the prompt's. */
function used(usage) {
  const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usage;
  const sum = (one, other) => (one === undefined ? other : one + (other ?? 0));
  return [sum(promptTokenCount, toolUsePromptTokenCount), sum(candidatesTokenCount, thoughtsTokenCount)];
}
