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
    calls: [],
    cut: [],
    reason: null,
    usage: null,
    error: null,
  };
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
        if (part.functionCall?.args && !part.functionCall.willContinue) {
          const { id, name, args } = part.functionCall;
          answer.calls.push({ id, name, arguments: args });
        } else if (part.functionCall) answer.cut.push({ name: part.functionCall.name });
      }
      answer.reason = finishReason ?? answer.reason;
      const usage = chunk.usageMetadata;
      if (usage) answer.usage = [usage.promptTokenCount, usage.candidatesTokenCount];
    }
  } catch (thrown) {
    answer.error = failure(thrown);
  }
  // Nothing ends a stream of Gemini's but its last chunk, which says why it is the last.
  return { ...answer, ended: !answer.error && answer.reason !== null };
}
