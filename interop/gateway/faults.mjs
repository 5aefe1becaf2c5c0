// Upstreams that fail, and canned responses for what the proxy forwards.

import { setTimeout as sleep } from 'node:timers/promises';

const ANTHROPIC = '/v1/messages';
const RESPONSES = '/v1/responses';
const OLLAMA = '/api/chat';

const sse = (...events) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** The begin of a stream of each API, with a text that goes on. */
const BEGINS = {
  [ANTHROPIC]: sse(
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'm',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'It is' } },
  ),
  [RESPONSES]: sse(
    {
      type: 'response.created',
      sequence_number: 0,
      response: {
        id: 'resp_1',
        object: 'response',
        created_at: 1,
        model: 'm',
        status: 'in_progress',
        output: [],
      },
    },
    {
      type: 'response.output_item.added',
      sequence_number: 1,
      output_index: 0,
      item: { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] },
    },
    {
      type: 'response.content_part.added',
      sequence_number: 2,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    },
    {
      type: 'response.output_text.delta',
      sequence_number: 3,
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      delta: 'It is',
      logprobs: [],
    },
  ),
  [OLLAMA]: `${JSON.stringify({ model: 'm', message: { role: 'assistant', content: 'It is' }, done: false })}\n`,
  '/v1/chat/completions': `data: ${JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: { role: 'assistant', content: 'It is' }, finish_reason: null }],
  })}\n\n`,
};

/** The error that a server sends in the middle of a stream. */
const ERRORS = {
  [ANTHROPIC]: sse({ type: 'error', error: { type: 'overloaded_error', message: 'out of memory' } }),
  [RESPONSES]: sse({
    type: 'error',
    sequence_number: 4,
    code: 'server_error',
    message: 'out of memory',
    param: null,
    error: { type: 'server_error', code: 'server_error', message: 'out of memory', param: null },
  }),
  [OLLAMA]: '{"error":"out of memory"}\n',
  '/v1/chat/completions': 'data: {"error":{"message":"out of memory","type":"server_error"}}\n\n',
};

function refuse(status, type, headers = {}) {
  return (path, _, response) => {
    const error = { message: 'no luck today', type };
    const body = { [ANTHROPIC]: { type: 'error', error }, [OLLAMA]: { error: error.message } }[path] ?? {
      error,
    };
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}

/** Begins a response: a stream, or a body that says how long it would be. */
async function begin(path, { stream }, response) {
  if (!stream && path !== OLLAMA) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"id":"x_1",');
    return sleep(10);
  }
  response.writeHead(200, { 'content-type': path === OLLAMA ? 'application/x-ndjson' : 'text/event-stream' });
  response.write(BEGINS[path]);
  return sleep(10);
}

/** What an upstream does for the models of these names. */
export const FAULTS = {
  'status-429': refuse(429, 'rate_limit_error', { 'retry-after': '2' }),
  'status-500': refuse(500, 'server_error'),
  async 'breaks-off'(path, request, response) {
    await begin(path, request, response);
    response.destroy();
  },
  async 'error-event'(path, request, response) {
    await begin(path, request, response);
    response.end(ERRORS[path]);
  },
};

/** Bytes that no serializer writes like that: white space, unknown members and events, comments, CR LF. */
const ODD_STREAM = {
  [ANTHROPIC]:
    ': hello\r\n\r\n' +
    `${BEGINS[ANTHROPIC].replaceAll('\n', '\r\n')}event: ping\ndata:{"type" : "ping"}\n\n` +
    'event: new_event\ndata: {"type":"new_event","é\\u00e9":[1.0,1e2]}\n\n' +
    `${sse({ type: 'content_block_stop', index: 0 })}event: message_delta\n` +
    'data: {"type":"message_delta", "delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}\n\n' +
    'event: message_stop\ndata: {  "type":\t"message_stop" }\n\n',
  [RESPONSES]:
    `: hello\n\n${BEGINS[RESPONSES]}event: keepalive\ndata: {"type":"keepalive","sequence_number":4}\n\n` +
    'event: response.completed\r\ndata: { "type":"response.completed" ,"sequence_number":5,"response":{"id":"resp_1",' +
    '"status":"completed","output":[],"new":1.0}}\r\n\r\n',
};
const ODD_BODY =
  '{ "id" : "x_1",\t"type":"message", "object":"response","status":"completed","new": [ 1.0, 1E2 ], "é":"\\u00e9"}\n';

/** Canned responses by path, in pieces of 7 bytes. */
export const CANNED = {
  [ANTHROPIC]: canned(ANTHROPIC),
  [RESPONSES]: canned(RESPONSES),
  '/v1/messages/count_tokens': (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{ "input_tokens" : 12 }\n'),
};

/** The bytes of a canned response. */
export function cannedBytes(path, isStreamed) {
  return Buffer.from(isStreamed ? ODD_STREAM[path] : ODD_BODY);
}

function canned(path) {
  return async ({ stream }, response) => {
    const bytes = cannedBytes(path, stream);
    response.writeHead(200, {
      'content-type': stream ? 'text/event-stream; charset=utf-8' : 'application/json',
      'request-id': 'req_upstream',
      'x-request-id': 'req_upstream',
    });
    for (let at = 0; at < bytes.length; at += 7) {
      response.write(bytes.subarray(at, at + 7));
      if (at % 49 === 0) await sleep(0);
    }
    response.end();
  };
}
