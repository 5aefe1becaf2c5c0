// Gemini streamGenerateContent, decoded by `@google/genai`.

import { GoogleGenAI } from '@google/genai';
import { drain, failure } from './answer.mjs';

export const provider = 'gemini';
export const extension = 'sse';

/** Asks for a stream and gathers what the SDK makes of it. */
export async function ask({ url, model, prompt, signal }) {
  const client = new GoogleGenAI({ apiKey: 'none', vertexai: false, httpOptions: { baseUrl: url } });
  const answer = {
    text: '',
    reasoning: '',
    refusal: '',
    opaque: [],
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
        if (part.thoughtSignature) answer.opaque.push(part.thoughtSignature);
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

/** Asks what `request` says (see `requests.mjs`) in the SDK's own words; what comes back is not looked at. */
export async function send({ url, key, request, signal }) {
  const { model, system, messages, tools, schema, maxTokens, temperature } = request;
  const client = new GoogleGenAI({ apiKey: key, vertexai: false, httpOptions: { baseUrl: url } });
  const functionDeclarations = tools?.map(({ parameters, ...tool }) => ({
    ...tool,
    parametersJsonSchema: parameters,
  }));
  const chunks = await client.models.generateContentStream({
    model,
    contents: turns(messages),
    config: {
      systemInstruction: system,
      tools: functionDeclarations && [{ functionDeclarations }],
      responseMimeType: schema && 'application/json',
      responseJsonSchema: schema,
      maxOutputTokens: maxTokens,
      temperature,
      abortSignal: signal,
    },
  });
  await drain(chunks);
}

/** Responses are the user's, and what one side says is one content. */
function turns(messages) {
  const names = new Map(); // of the functions that were called, by their calls' ids
  const all = [];
  for (const { role, content, tool_calls: calls = [], tool_call_id: id } of messages) {
    for (const call of calls) names.set(call.id, call.function.name);
    const its = role === 'assistant' ? 'model' : 'user';
    if (all.at(-1)?.role !== its) all.push({ role: its, parts: [] });
    const { parts } = all.at(-1);
    if (role === 'tool') {
      parts.push({ functionResponse: { id, name: names.get(id), response: responded(content) } });
      continue;
    }
    if (content) parts.push({ text: content });
    parts.push(...calls.map(functionCall));
  }
  return all;
}

function functionCall({ id, function: { name, arguments: text } }) {
  return { functionCall: { id, name, args: JSON.parse(text) } };
}

/** A response is an object; what is none is its `output`. */
function responded(content) {
  return content.startsWith('{') ? JSON.parse(content) : { output: content };
}
