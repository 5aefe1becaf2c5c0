// Anthropic messages, by `@anthropic-ai/sdk`.

import Anthropic from '@anthropic-ai/sdk';
import { KEY, question, result, tool } from '../conversation.mjs';

export const wire = 'anthropic';

const connect = ({ url, maxRetries }) =>
  new Anthropic({ baseURL: url, apiKey: KEY, maxRetries, logLevel: 'off' });

/** Each mode of the library: from a client and a body to a message. */
const MODES = {
  whole: (client, body) => client.messages.create(body),
  async stream(client, body) {
    let message;
    const json = [];
    for await (const event of await client.messages.create({ ...body, stream: true })) {
      if (event.type === 'message_start') message = event.message;
      if (event.type === 'content_block_start') message.content[event.index] = { ...event.content_block };
      if (event.type === 'message_delta') {
        Object.assign(message, event.delta);
        Object.assign(message.usage, event.usage);
      }
      if (event.type !== 'content_block_delta') continue;
      const [block, { delta }] = [message.content[event.index], event];
      if (delta.type === 'text_delta') block.text += delta.text;
      if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
      if (delta.type === 'signature_delta') block.signature = delta.signature;
      if (delta.type === 'input_json_delta')
        json[event.index] = (json[event.index] ?? '') + delta.partial_json;
    }
    json.forEach((text, index) => (message.content[index].input = JSON.parse(text || '{}')));
    return message;
  },
  async helper(client, body) {
    return client.messages.stream(body).finalMessage();
  },
};

export const clients = Object.entries(MODES).map(([mode, ask]) => ({
  name: `anthropic ${mode}`,
  wire,
  isStream: mode !== 'whole',
  fail: ({ model, ...setup }) =>
    ask(connect(setup), { model, max_tokens: 1000, messages: [{ role: 'user', content: question }] }),
  async converse(setup) {
    const client = connect(setup);
    const messages = [{ role: 'user', content: question }];
    const { name, description, parameters } = tool;
    const tools = [{ name, description, input_schema: parameters }];
    const body = { model: setup.model, max_tokens: 1000, messages, tools };
    const first = await ask(client, body);
    const calls = first.content.filter(({ type }) => type === 'tool_use');
    messages.push({ role: 'assistant', content: first.content });
    messages.push({
      role: 'user',
      content: calls.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result })),
    });
    const second = await ask(client, body);
    return {
      calls: calls.map(({ name, input }) => ({ name, arguments: input })),
      preface: textOf(first),
      reasons: [first.stop_reason, second.stop_reason],
      usages: [first, second].map(({ usage }) => [usage.input_tokens, usage.output_tokens]),
      text: textOf(second),
    };
  },
}));

function textOf({ content }) {
  return content.map(({ text }) => text ?? '').join('');
}
