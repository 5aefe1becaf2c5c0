// A model server without a model: it answers in OpenAI's chat format and in Ollama's, fails on request, and echoes canned
// responses of Anthropic and OpenAI Responses. The request's `model` says what happens: `FAMILY@CASE` writes a call, and
// after its result the answer; `FAULT@CASE` fails.

import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ARGUMENTS, answer, usage } from './conversation.mjs';
import { written } from './families.mjs';
import { CANNED, FAULTS } from './faults.mjs';

const [INPUT, OUTPUT] = usage;

/** Starts the server. `requests(model)` returns what it got for a model: { method, url, headers, body }. */
export async function startUpstream() {
  const log = new Map();
  const server = http.createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const json = body.length > 0 ? JSON.parse(body) : {};
    const { method, url, headers } = request;
    const requests = log.get(json.model) ?? [];
    log.set(json.model, requests);
    requests.push({ method, url, headers, body });
    respond(url.split('?')[0], json, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests: (model) => log.get(model) ?? [],
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function respond(path, request, response) {
  const [name] = (request.model ?? '').split('@');
  if (FAULTS[name]) return FAULTS[name](path, request, response);
  if (CANNED[path]) return CANNED[path](request, response);
  const isOllama = path === '/api/chat';
  if (!isOllama && path !== '/v1/chat/completions') return response.writeHead(404).end();

  const hasResult = request.messages.some(({ role }) => role === 'tool');
  const { reasoning, text, native } = hasResult
    ? { reasoning: '', text: answer, native: false }
    : written(name);
  const deltas = [
    ...pieces(reasoning).map((piece) => ({ [isOllama ? 'thinking' : 'reasoning_content']: piece })),
    ...pieces(text).map((content) => ({ content })),
    ...(native ? [{ tool_calls: [isOllama ? ollamaCall() : chatCall()] }] : []),
  ];
  const lines = isOllama ? ollama(request, deltas) : chat(request, deltas, native);
  response.writeHead(200, { 'content-type': isOllama ? 'application/x-ndjson' : 'text/event-stream' });
  let count = 0;
  for (const line of lines) {
    response.write(line);
    if (++count % 8 === 0) await sleep(0); // several events in a packet, and several packets
  }
  response.end();
}

/** Cuts a text in pieces of 1 to 5 characters. */
function pieces(text) {
  const characters = [...text];
  const cut = [];
  for (let size = 1; characters.length > 0; size = (size % 5) + 1)
    cut.push(characters.splice(0, size).join(''));
  return cut;
}

const chatCall = () => ({
  index: 0,
  id: 'call_native',
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify(ARGUMENTS) },
});

const ollamaCall = () => ({ function: { name: 'weather', arguments: ARGUMENTS } });

function* chat({ model, stream_options: options }, deltas, isCall) {
  const event = (choices, more) =>
    `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices, ...more })}\n\n`;
  const choice = (delta, reason = null) => [{ index: 0, delta, logprobs: null, finish_reason: reason }];
  yield event(choice({ role: 'assistant', content: '' }));
  for (const delta of deltas) yield event(choice(delta));
  yield event(choice({}, isCall ? 'tool_calls' : 'stop'));
  if (options?.include_usage) {
    yield event([], {
      usage: { prompt_tokens: INPUT, completion_tokens: OUTPUT, total_tokens: INPUT + OUTPUT },
    });
  }
  yield 'data: [DONE]\n\n';
}

function* ollama({ model }, deltas) {
  const line = (message, more) =>
    `${JSON.stringify({ model, created_at: '2026-11-30T00:00:00Z', message: { role: 'assistant', content: '', ...message }, done: false, ...more })}\n`;
  for (const delta of deltas) yield line(delta);
  yield line({}, { done: true, done_reason: 'stop', prompt_eval_count: INPUT, eval_count: OUTPUT });
}
