// Anthropic messages.

import { named } from './frames.mjs';

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 25, cache_read_input_tokens: 0, output_tokens: 1, service_tier: 'standard' },
  },
};
const block = (index, content_block) => ({ type: 'content_block_start', index, content_block });
const delta = (index, of) => ({ type: 'content_block_delta', index, delta: of });
const stop = (index) => ({ type: 'content_block_stop', index });
const ended = (stop_reason) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 15 } },
  { type: 'message_stop' },
];
const toolUse = (index) =>
  block(index, { type: 'tool_use', id: `toolu_${index}`, name: 'get_weather', input: {} });
const json = (index, partial_json) => delta(index, { type: 'input_json_delta', partial_json });
const text = (index, words) => delta(index, { type: 'text_delta', text: words });
export const anthropic = {
  'pings-and-call': named([
    start,
    block(0, { type: 'text', text: '' }),
    { type: 'ping' },
    text(0, 'Let me see.'),
    stop(0),
    toolUse(1),
    json(1, ''),
    json(1, '{"city": "San'),
    { type: 'ping' },
    json(1, ' José"}'),
    stop(1),
    ...ended('tool_use'),
  ]),
  'call-without-arguments': named([start, toolUse(0), json(0, ''), stop(0), ...ended('tool_use')]),
  'length-in-call': named([
    start,
    toolUse(0),
    json(0, ''),
    json(0, '{"city": "San'),
    stop(0),
    ...ended('max_tokens'),
  ]),
  'length-in-open-call': named([start, toolUse(0), json(0, '{"city": "San'), ...ended('max_tokens')]),
  'error-overloaded': named([
    start,
    block(0, { type: 'text', text: '' }),
    text(0, 'Half a sen'),
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
  ]),
  refusal: named([start, block(0, { type: 'text', text: '' }), text(0, 'I'), stop(0), ...ended('refusal')]),
};
