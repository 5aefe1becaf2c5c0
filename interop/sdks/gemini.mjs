// Gemini streamGenerateContent, decoded by `@google/genai`.

import { GoogleGenAI } from '@google/genai';
import { drain, failure } from './response.mjs';

export const provider = 'gemini';
export const extension = 'sse';

/** Requests a stream, and collects what the SDK decodes. */
export async function ask({ url, model, prompt, signal }) {
  const client = new GoogleGenAI({ apiKey: 'none', vertexai: false, httpOptions: { baseUrl: url } });
  const response = {
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
        if (part.thoughtSignature) response.opaque.push(part.thoughtSignature);
        if (part.text) response[part.thought ? 'reasoning' : 'text'] += part.text;
        // A part without a name continues the previous call. The SDK does not join them.
        if (part.functionCall?.name) raw.push(part.functionCall);
      }
      const { blockReason, blockReasonMessage } = chunk.promptFeedback ?? {};
      response.refusal += blockReasonMessage ?? '';
      response.reason = finishReason ?? blockReason ?? response.reason;
      if (chunk.usageMetadata) response.usage = used(chunk.usageMetadata);
    }
  } catch (thrown) {
    response.error = failure(thrown);
  }
  // The last chunk of a Gemini stream has the finish reason; there is no other end.
  const ended = !response.error && response.reason !== null;
  return { ...response, ...sorted(raw, ended && response.reason !== 'MAX_TOKENS'), ended };
}

function sorted(raw, isWhole) {
  const calls = [];
  const cut = [];
  for (const { id, name, args, partialArgs, willContinue } of raw) {
    // Empty arguments are `{}`, but only the end confirms that none follow.
    const none = isWhole && !partialArgs ? {} : undefined;
    if (!willContinue && (args ?? none)) calls.push({ id, name, arguments: args ?? none });
    else cut.push({ name });
  }
  return { calls, cut };
}

/** Gemini counts thoughts and the results of server tools separately. */
function used(usage) {
  const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usage;
  const sum = (one, other) => (one === undefined ? other : one + (other ?? 0));
  return [sum(promptTokenCount, toolUsePromptTokenCount), sum(candidatesTokenCount, thoughtsTokenCount)];
}

/** Sends `request` (see `requests.mjs`) with the SDK; ignores the response. */
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

/** Function responses belong to the user; consecutive parts of one role are one content. */
function turns(messages) {
  const names = new Map(); // of the called functions, by call id
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

/** A function response is an object; any other value is its `output`. */
function responded(content) {
  return content.startsWith('{') ? JSON.parse(content) : { output: content };
}
