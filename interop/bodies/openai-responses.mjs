// OpenAI responses.

import { named } from './frames.mjs';

const response = (status, rest = {}) => ({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  model: 'gpt-x',
  status,
  output: [],
  ...rest,
});
const created = { type: 'response.created', sequence_number: 0, response: response('in_progress') };
const message = (content, status) => ({ id: 'msg_1', type: 'message', status, role: 'assistant', content });
const part = (type, text) =>
  type === 'refusal' ? { type, refusal: text } : { type, text, annotations: [], logprobs: [] };
const functionCall = (args, status) => ({
  id: 'fc_1',
  type: 'function_call',
  status,
  call_id: 'call_1',
  name: 'get_weather',
  arguments: args,
});

/** A message with one part, in two fragments, and the final `status` of the item. */
function said(type, [one, two], status = 'completed') {
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const kind = type === 'refusal' ? 'refusal' : 'output_text';
  return [
    { type: 'response.output_item.added', output_index: 0, item: message([], 'in_progress') },
    { type: 'response.content_part.added', ...at, part: part(type, '') },
    { type: `response.${kind}.delta`, ...at, delta: one, logprobs: [], obfuscation: 'x7' },
    { type: `response.${kind}.delta`, ...at, delta: two, logprobs: [], obfuscation: '' },
    { type: `response.${kind}.done`, ...at, [type === 'refusal' ? 'refusal' : 'text']: one + two },
    { type: 'response.content_part.done', ...at, part: part(type, one + two) },
    { type: 'response.output_item.done', output_index: 0, item: message([part(type, one + two)], status) },
  ];
}
export const openaiResponses = {
  'length-in-text': named([
    created,
    ...said('output_text', ['This goes ', 'on and'], 'incomplete'),
    {
      type: 'response.incomplete',
      response: response('incomplete', {
        incomplete_details: { reason: 'max_output_tokens' },
        output: [message([part('output_text', 'This goes on and')], 'incomplete')],
        usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      }),
    },
  ]),
  // As recorded: `.done` comes even for truncated arguments; only the item's status shows it.
  'length-in-call': named([
    created,
    { type: 'response.output_item.added', output_index: 0, item: functionCall('', 'in_progress') },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta: '{"x":48' },
    { type: 'response.function_call_arguments.delta', item_id: 'fc_1', output_index: 0, delta: '151' },
    {
      type: 'response.function_call_arguments.done',
      item_id: 'fc_1',
      output_index: 0,
      arguments: '{"x":48151',
    },
    { type: 'response.output_item.done', output_index: 0, item: functionCall('{"x":48151', 'incomplete') },
    {
      type: 'response.incomplete',
      response: response('incomplete', {
        incomplete_details: { reason: 'max_output_tokens' },
        output: [functionCall('{"x":48151', 'incomplete')],
      }),
    },
  ]),
  refusal: named([
    created,
    ...said('refusal', ['I cannot ', 'say that.']),
    {
      type: 'response.completed',
      response: response('completed', {
        output: [message([part('refusal', 'I cannot say that.')], 'completed')],
      }),
    },
  ]),
  failed: named([
    created,
    ...said('output_text', ['Half a ', 'sen']).slice(0, 4),
    {
      type: 'response.failed',
      response: response('failed', { error: { code: 'server_error', message: 'It failed.' } }),
    },
  ]),
};
