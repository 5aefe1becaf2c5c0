// Responses that repeat the key of the request, as some servers and proxies do. Each is { respond, out?, says?, codes? }:
// `respond` returns status, headers and body for a provider; the rest is expected of the program (see `extract.mjs`).

import { KEY } from './tokenline.mjs';

const JSON_TYPE = { 'content-type': 'application/json' };
const said = `Incorrect API key provided: ${KEY}. You sent "Bearer ${KEY}".`;
const MASKED = 'Incorrect API key provided: [secret]';

const streamType = (provider) => ({
  'content-type': provider === 'ollama' ? 'application/x-ndjson' : 'text/event-stream',
});

// A record, then an error that repeats the key in every member.
const RECORD = '{"n":1}';
const event = (value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const line = (value) => `${JSON.stringify(value)}\n`;
const TEXT = `${RECORD}\n`;
const STREAMS = {
  'openai-chat':
    data({ choices: [{ index: 0, delta: { content: TEXT } }] }) +
    data({ error: { message: said, type: KEY, param: KEY, code: KEY } }),
  'openai-responses':
    event({
      type: 'response.output_text.delta',
      item_id: 'm',
      output_index: 0,
      content_index: 0,
      delta: TEXT,
    }) + event({ type: 'error', code: KEY, message: said, param: KEY }),
  anthropic:
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: TEXT } }) +
    event({ type: 'error', error: { type: KEY, message: said }, request_id: KEY }),
  gemini:
    data({ candidates: [{ content: { role: 'model', parts: [{ text: TEXT }] } }] }) +
    data({ error: { code: 401, message: said, status: KEY } }),
  ollama: line({ message: { role: 'assistant', content: TEXT }, done: false }) + line({ error: said }),
};

export const ECHOES = {
  'as JSON': {
    respond: () => [
      401,
      JSON_TYPE,
      JSON.stringify({ error: { message: said, type: KEY, code: KEY }, key: KEY }),
    ],
    says: ['401', MASKED],
  },
  'as a JSON text': {
    respond: () => [401, JSON_TYPE, JSON.stringify({ error: said })],
    says: ['401', MASKED],
  },
  'as text': { respond: () => [403, { 'content-type': 'text/plain' }, said], says: ['403', MASKED] },
  'as a page': {
    respond: () => [401, { 'content-type': 'text/html' }, `<!doctype html><title>${KEY}</title>${said}`],
    says: ['401'],
  },
  'at length': {
    // The program cuts this off in the middle of the key.
    respond: () => [401, { 'content-type': 'text/plain' }, `${'.'.repeat(485)}${KEY}`],
    says: ['401'],
  },
  'in headers': {
    respond: () => [
      401,
      {
        'x-request-id': KEY,
        'request-id': KEY,
        'retry-after': KEY,
        'www-authenticate': `Bearer ${KEY}`,
        'content-type': KEY,
      },
      '',
    ],
    says: ['401'],
  },
  'in a redirect': {
    respond: () => [302, { location: `https://elsewhere.invalid/${KEY}?key=${KEY}#${KEY}` }, said],
    says: ['302'],
  },
  'in a 200': { respond: () => [200, { 'content-type': `text/html; ${KEY}` }, said] },
  'in a stream': {
    respond: (provider) => [200, streamType(provider), STREAMS[provider]],
    out: [RECORD],
    codes: ['provider_error'],
    says: ['provider_error', MASKED],
  },
};
