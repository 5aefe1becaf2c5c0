// OpenAI Responses, by `openai`.

import OpenAI from 'openai';
import { KEY, question, result, tool } from '../conversation.mjs';

export const wire = 'responses';

const connect = ({ url, maxRetries }) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries, logLevel: 'off' });

/** Each mode of the library: from a client and a body to a response. */
const MODES = {
  whole: (client, body) => client.responses.create(body),
  async stream(client, body) {
    // As Codex does it: items from `output_item.done`, the end from `response.completed`.
    const output = [];
    let last;
    let number = 0;
    for await (const event of await client.responses.create({ ...body, stream: true })) {
      if (event.sequence_number !== number++) throw new Error(`sequence_number ${event.sequence_number}`);
      if (event.type === 'response.output_item.done') output[event.output_index] = event.item;
      if (event.type === 'response.failed') throw new OpenAI.APIError(undefined, event.response.error);
      if (event.type === 'response.completed') last = event.response;
    }
    return { ...last, output };
  },
  async helper(client, body) {
    return client.responses.stream(body).finalResponse();
  },
};

export const clients = Object.entries(MODES).map(([mode, ask]) => ({
  name: `openai responses ${mode}`,
  wire,
  isStream: mode !== 'whole',
  fail: (setup) => ask(connect(setup), { model: setup.model, input: question }),
  async converse(setup) {
    const client = connect(setup);
    const input = [{ role: 'user', content: question }];
    const body = {
      model: setup.model,
      input,
      tools: [{ type: 'function', strict: true, ...tool }],
      store: false,
    };
    const first = await ask(client, body);
    const calls = first.output.filter(({ type }) => type === 'function_call');
    input.push(...first.output);
    for (const { call_id } of calls) input.push({ type: 'function_call_output', call_id, output: result });
    const second = await ask(client, body);
    return {
      calls: calls.map(({ name, arguments: text }) => ({ name, arguments: JSON.parse(text) })),
      preface: textOf(first),
      reasons: [first.status, second.status],
      usages: [first, second].map(({ usage }) => [usage.input_tokens, usage.output_tokens]),
      text: textOf(second),
    };
  },
}));

function textOf({ output }) {
  const parts = output.filter(({ type }) => type === 'message').flatMap(({ content }) => content);
  return parts.map(({ text }) => text).join('');
}
