// LangChain's ChatOpenAI.

import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { KEY, question, result, tool } from '../conversation.mjs';

const connect = ({ url, model, maxRetries, isResponses }) =>
  new ChatOpenAI({
    model,
    apiKey: KEY,
    maxRetries: maxRetries ?? 1, // by default 6, of a minute
    useResponsesApi: isResponses,
    configuration: { baseURL: `${url}/v1`, logLevel: 'off' },
  });

/** Each mode of the library: from a model and messages to a message. */
const MODES = {
  whole: (model, messages) => model.invoke(messages),
  async stream(model, messages) {
    let message;
    for await (const chunk of await model.stream(messages)) message = message ? message.concat(chunk) : chunk;
    return message;
  },
};

export const clients = ['chat', 'responses'].flatMap((wire) =>
  Object.entries(MODES).map(([mode, ask]) => ({
    name: `langchain ${wire} ${mode}`,
    wire,
    ignoresShouldRetry: true,
    isStream: mode !== 'whole',
    fail: (setup) =>
      ask(connect({ ...setup, isResponses: wire === 'responses' }), [new HumanMessage(question)]),
    async converse(setup) {
      const plain = connect({ ...setup, isResponses: wire === 'responses' });
      const model = plain.bindTools([{ type: 'function', function: tool }]);
      const messages = [new HumanMessage(question)];
      const first = await ask(model, messages);
      messages.push(first);
      for (const { id } of first.tool_calls)
        messages.push(new ToolMessage({ tool_call_id: id, content: result }));
      const second = await ask(model, messages);
      return {
        calls: first.tool_calls.map(({ name, args }) => ({ name, arguments: args })),
        preface: first.text,
        reasons: [first, second].map(({ response_metadata: seen }) => seen.finish_reason ?? seen.status),
        usages: [first, second].map(({ usage_metadata: seen }) => [seen.input_tokens, seen.output_tokens]),
        text: second.text,
      };
    },
  })),
);
