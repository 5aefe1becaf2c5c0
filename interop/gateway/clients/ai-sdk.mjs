// The AI SDK: it calls the tool itself, and asks again with the result.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, jsonSchema, stepCountIs, streamText, tool as defined } from 'ai';
import { KEY, question, result, tool } from '../conversation.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const PROVIDERS = {
  chat: ({ url, model }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).chat(model),
  responses: ({ url, model }) => createOpenAI({ baseURL: `${url}/v1`, apiKey: KEY }).responses(model),
  anthropic: ({ url, model }) => createAnthropic({ baseURL: `${url}/v1`, apiKey: KEY })(model),
};

/** Each mode of the library: from its options to { text, steps }. */
const MODES = {
  whole: (options) => generateText(options),
  async stream(options) {
    let error;
    const streamed = streamText({ ...options, onError: (event) => (error ??= event.error) });
    let text = '';
    for await (const part of streamed.fullStream ?? streamed.stream) {
      if (part.type === 'start-step') text = ''; // the text of the last step counts
      if (part.type === 'text-delta') text += part.text;
    }
    if (error) throw error;
    return { text, steps: await streamed.steps };
  },
};

export const clients = Object.entries(PROVIDERS).flatMap(([wire, connect]) =>
  Object.entries(MODES).map(([mode, ask]) => ({
    name: `ai-sdk ${wire} ${mode}`,
    wire,
    isStream: mode !== 'whole',
    isAiSdk: true,
    ignoresShouldRetry: true,
    fail: ({ maxRetries, ...setup }) => ask({ model: connect(setup), prompt: question, maxRetries }),
    async converse({ maxRetries, ...setup }) {
      const calls = [];
      const execute = (parameters) => {
        calls.push({ name: tool.name, arguments: parameters });
        return JSON.parse(result);
      };
      const { description, parameters } = tool;
      const { text, steps } = await ask({
        model: connect(setup),
        prompt: question,
        maxRetries,
        // Otherwise it refers to items of OpenAI's store, which no other server has.
        providerOptions: { openai: { store: false } },
        tools: { [tool.name]: defined({ description, inputSchema: jsonSchema(parameters), execute }) },
        stopWhen: stepCountIs(3),
      });
      return {
        calls,
        preface: steps[0].text,
        reasons: steps.map(({ finishReason }) => finishReason),
        usages: steps.map(({ usage }) => [usage.inputTokens, usage.outputTokens]),
        text,
      };
    },
  })),
);
