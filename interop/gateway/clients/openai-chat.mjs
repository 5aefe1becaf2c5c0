// OpenAI chat completions, by `openai`.

import OpenAI from 'openai';
import { KEY, question, result, tool } from '../conversation.mjs';

export const wire = 'chat';

export const connect = ({ url, maxRetries }) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries, logLevel: 'off' });

/** Each mode of the library: from a client and a body to { message, reason, usage }. */
export const MODES = {
  whole: async (client, body) => finished(await client.chat.completions.create(body)),
  async stream(client, body) {
    // As programs without the helper do it: they index, and append.
    const message = { role: '', content: '', tool_calls: [] };
    let [reason, usage] = [];
    const options = { stream: true, stream_options: { include_usage: true } };
    for await (const chunk of await client.chat.completions.create({ ...body, ...options })) {
      usage = chunk.usage ?? usage;
      if (chunk.choices.length === 0) continue;
      const [{ delta, finish_reason }] = chunk.choices;
      message.role += delta.role ?? '';
      message.content += delta.content ?? '';
      for (const { index, id, type, function: one } of delta.tool_calls ?? []) {
        const call = (message.tool_calls[index] ??= {
          id: '',
          type: '',
          function: { name: '', arguments: '' },
        });
        call.id += id ?? '';
        call.type += type ?? '';
        call.function.name += one.name ?? '';
        call.function.arguments += one.arguments ?? '';
      }
      reason = finish_reason ?? reason;
    }
    if (message.tool_calls.length === 0) delete message.tool_calls;
    return { message, reason, usage };
  },
  async helper(client, body) {
    const stream = client.chat.completions.stream({ ...body, stream_options: { include_usage: true } });
    const seen = finished(await stream.finalChatCompletion());
    return { ...seen, message: await stream.finalMessage() };
  },
};

function finished({ choices: [{ message, finish_reason: reason }], usage }) {
  return { message, reason, usage };
}

export const clients = Object.entries(MODES).map(([mode, ask]) => ({
  name: `openai chat ${mode}`,
  wire,
  isStream: mode !== 'whole',
  fail: (setup) =>
    ask(connect(setup), { model: setup.model, messages: [{ role: 'user', content: question }] }),
  async converse(setup) {
    const client = connect(setup);
    const messages = [{ role: 'user', content: question }];
    const body = { model: setup.model, messages, tools: [{ type: 'function', function: tool }] };
    const first = await ask(client, body);
    const calls = first.message.tool_calls ?? [];
    messages.push(first.message);
    for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: result });
    const second = await ask(client, body);
    return {
      calls: calls.map(({ function: { name, arguments: text } }) => ({ name, arguments: JSON.parse(text) })),
      preface: first.message.content,
      reasons: [first.reason, second.reason],
      usages: [first, second].map(({ usage }) => [usage.prompt_tokens, usage.completion_tokens]),
      text: second.message.content,
    };
  },
}));
