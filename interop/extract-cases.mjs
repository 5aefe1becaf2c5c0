// The cases of `tokenline extract`: responses of aimock, and the expected results.

import { KEY } from './tokenline.mjs';

export const RECORDS = [
  '{"entity":"Señor \\"Müller\\"","n":1}',
  '{"deep":{"list":[1,2.50,{"":null}],"text":"}{][,: 日本語 😀\\n"},"n":-1.5e-3}',
  '{"big":12345678901234567890,"spaced": [ true , false ],"n":3}',
];
const TEXT = RECORDS.join('\n');
// Each is one chunk of nine characters, including its line feed.
export const SHORT = Array.from({ length: 40 }, (_, at) => `{"n":${10 + at}}`);
export const SCHEMA = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

const call = (name, parameters, id) => ({ name, arguments: JSON.stringify(parameters), id });
const CALLS = [
  call('get_weather', { city: 'Zürich "Altstadt" \\' }, 'call_a'),
  call('get_weather', { city: 'Lima', days: 2 }, 'call_b'),
  call('list_files', {}, 'call_c'),
];
// Its tool requires a city.
const INVALID = call('get_weather', { days: 2 }, 'call_d');
const blocks = (calls) => calls.map((one) => ({ type: 'toolCall', ...one }));

/** Calls as the program writes them; Ollama's have no ids. */
export const written = (calls) => (provider) =>
  calls.map(({ name, arguments: text, id }) => {
    const parameters = JSON.parse(text);
    return JSON.stringify(provider === 'ollama' ? { name, parameters } : { name, parameters, call_id: id });
  });

/** An error of the provider that repeats the key. */
const errorResponse = (status, more) => ({
  error: { message: `Incorrect API key provided: ${KEY}`, type: 'some_error', code: 'some_code' },
  status,
  ...more,
});
const AT_ONCE = { retryAfter: 0 };

const OPENAI = ['openai-chat', 'openai-responses'];
const asCalls = ({ tools }) => ['--emit', 'tool-calls', '--tools', tools];
const asTextCalls = (files) => [...asCalls(files), '--call-format', 'auto'];
const CALL_AS_TEXT = 'I call:\n{"name":"get_weather","parameters":{"city":"Oslo"}}\n';
const withSchema = ({ schema }) => ['--schema', schema];
const cut = { content: `${TEXT}\n{"n":4,"entity":"Se`, finishReason: 'length' };

// The response of aimock, `response` or `turns`, and the expectations:
//   args      additional arguments, or a function of the files
//   exit      the exit code; default 0
//   out       the lines on standard output, or a function of the provider; `received` are those in the received bytes
//   least     the minimum number of lines
//   codes     the reported codes, or a function of the provider; default none; null allows any
//   says      parts of standard error
//   requests  the number of requests; default 1; `journaled` if aimock's count differs
//   waits     the minimum milliseconds between requests
// In every case, the key appears nowhere, and the report is consistent.
export const RESPONSES = [
  { name: 'records', response: { content: TEXT }, out: RECORDS },
  { name: 'records-in-ones', response: { content: TEXT }, options: { chunkSize: 1 }, out: RECORDS },
  {
    name: 'records-in-one-piece',
    response: { content: TEXT },
    options: { chunkSize: 100_000 },
    out: RECORDS,
  },
  {
    name: 'records-between-words',
    response: { content: `Here you are:\n\`\`\`json\n${RECORDS.join(',\n')}\n\`\`\`\nThat is all.` },
    out: RECORDS,
    codes: ['prose', 'prose'],
  },
  {
    name: 'records-of-a-schema',
    response: { content: `${RECORDS[0]}\n{"n":"two"}\n${RECORDS[2]}` },
    args: withSchema,
    out: [RECORDS[0], RECORDS[2]],
    codes: ['schema_violation'],
  },
  {
    name: 'records-of-a-schema-deny',
    response: { content: `${RECORDS[0]}\n{"n":"two"}\n${RECORDS[2]}` },
    args: (files) => [...withSchema(files), '--deny'],
    exit: 1,
    out: [RECORDS[0], RECORDS[2]],
    codes: ['schema_violation'],
  },
  { name: 'calls', response: { toolCalls: CALLS }, args: asCalls, out: written(CALLS) },
  {
    name: 'calls-in-ones',
    response: { toolCalls: CALLS },
    options: { chunkSize: 1 },
    args: asCalls,
    out: written(CALLS),
  },
  {
    name: 'calls-beside-text',
    response: { content: 'Let me look:\n', toolCalls: CALLS },
    args: asCalls,
    out: written(CALLS),
  },
  {
    name: 'calls-beside-text-in-any-format',
    response: { content: 'Let me look:\n', toolCalls: CALLS },
    args: asTextCalls,
    out: written(CALLS),
    codes: ['prose'],
  },
  // The request has the tools, so what the text says is text.
  {
    name: 'calls-as-text',
    response: { content: CALL_AS_TEXT },
    args: asCalls,
    out: [],
    codes: ['call_in_text'],
  },
  {
    name: 'calls-as-text-in-any-format',
    response: { content: CALL_AS_TEXT },
    args: asTextCalls,
    out: ['{"name":"get_weather","parameters":{"city":"Oslo"}}'],
    codes: ['prose'],
  },
  {
    name: 'calls-unfit',
    response: { toolCalls: [CALLS[0], INVALID, CALLS[2]] },
    args: asCalls,
    out: written([CALLS[0], CALLS[2]]),
    codes: ['invalid_parameters'],
  },
  {
    name: 'calls-unfit-deny',
    response: { toolCalls: [CALLS[0], INVALID, CALLS[2]] },
    args: (files) => [...asCalls(files), '--deny'],
    exit: 1,
    out: written([CALLS[0], CALLS[2]]),
    codes: ['invalid_parameters'],
  },
  // For Ollama, aimock sends `stop` here, too, but the record is truncated all the same.
  { name: 'length', response: cut, out: RECORDS, codes: ['truncated'], says: ['truncated'] },
  {
    name: 'length-deny',
    response: cut,
    args: ['--deny'],
    exit: 1,
    out: RECORDS,
    codes: ['truncated'],
    says: ['truncated'],
  },
  {
    name: 'length-cuts-call',
    response: { toolCalls: [CALLS[0], { ...INVALID, arguments: '{"city":"Os' }], finishReason: 'length' },
    args: asCalls,
    out: written([CALLS[0]]),
    codes: ['truncated'],
    only: OPENAI, // for the others, aimock sends `{}` if arguments are not JSON
  },
];

// By default, the program retries a request up to twice.
export const FAILURES = [
  { name: 'disconnect', response: { content: TEXT }, options: { chaos: { disconnectRate: 1 } }, exit: 3 },
  {
    name: 'malformed',
    response: { content: TEXT },
    options: { chaos: { malformedRate: 1 } },
    exit: 3,
    codes: null,
  },
  {
    name: 'reset-in-text',
    response: { content: SHORT.join('\n') },
    options: { chunkSize: 9, latency: 4, truncateAfterChunks: 10 },
    exit: 3,
    out: 'received',
    least: 1,
    codes: null,
  },
  {
    name: 'reset-by-clock',
    response: { content: SHORT.join('\n') },
    options: { chunkSize: 9, latency: 22, disconnectAfterMs: 200 },
    exit: 3,
    out: 'received', // their number depends on timing
    codes: null,
  },
  {
    name: 'drop',
    response: { content: TEXT },
    options: { chaos: { dropRate: 1 } },
    args: ['--retries', '0'],
    exit: 3,
    says: ['500', 'Chaos: request dropped'],
  },
  {
    name: 'rate-limit',
    response: { content: TEXT },
    options: { chaos: { rateLimitRate: 1 } },
    args: ['--retries', '0'],
    exit: 3,
    says: ['429', 'Chaos: rate limit exceeded', 'try again after 1 s'],
  },
  {
    name: '429-twice-then-records',
    turns: [
      { response: errorResponse(429, AT_ONCE) },
      { response: errorResponse(429, AT_ONCE) },
      { response: { content: TEXT } },
    ],
    out: RECORDS,
    requests: 3,
  },
  {
    name: '429-once-too-often',
    response: errorResponse(429, AT_ONCE),
    exit: 3,
    says: ['429', '3 attempts'],
    requests: 3,
  },
  {
    name: '429-for-too-long',
    response: errorResponse(429, { retryAfter: 61 }),
    exit: 3,
    says: ['429', 'try again after 61 s'],
  },
  {
    name: '429-without-money',
    response: {
      ...errorResponse(429, AT_ONCE),
      error: { message: 'insufficient_quota', code: 'insufficient_quota' },
    },
    exit: 3,
    says: ['429'],
  },
  {
    name: '429-then-reset-in-text',
    turns: [
      { response: errorResponse(429, AT_ONCE) },
      {
        response: { content: SHORT.join('\n') },
        options: { chunkSize: 9, latency: 4, truncateAfterChunks: 10 },
      },
    ],
    exit: 3,
    out: 'received',
    least: 1,
    codes: null,
    requests: 2,
  },
  // Errors that a retry does not resolve, and a timeout during which the model may still be working.
  ...[400, 401, 403, 404, 504].map((status) => ({
    name: `status-${status}`,
    response: errorResponse(status),
    exit: 3,
    says: [String(status)],
  })),
];

/** These take a second or more, mostly waiting; they run concurrently. */
export const WAITING = [
  {
    name: 'drop-then-503-then-records',
    turns: [
      { response: { content: TEXT }, options: { chaos: { dropRate: 1 } } },
      { response: errorResponse(503) },
      { response: { content: TEXT } },
    ],
    out: RECORDS,
    requests: 3,
    waits: [500, 1_000],
  },
  {
    name: '500-once-too-often',
    turns: [500, 503].map((status) => ({ response: errorResponse(status) })),
    args: ['--retries', '1'],
    exit: 3,
    says: ['503', '2 attempts'],
    requests: 2,
  },
  {
    // The program's default wait would be shorter.
    name: '429-to-be-waited-for',
    turns: [
      { response: { content: TEXT }, options: { chaos: { rateLimitRate: 1 } } },
      { response: { content: TEXT } },
    ],
    out: RECORDS,
    requests: 2,
    waits: [1_000],
  },
  {
    name: 'silence',
    response: { content: TEXT },
    options: { chaos: { latencyMs: 2_000 } },
    args: ['--read-timeout', '1'],
    exit: 3,
    says: ['no response from', 'within 1 s'],
    journaled: 0, // aimock counts a request when it responds
  },
  {
    name: 'silence-in-text',
    response: { content: SHORT.join('\n') },
    options: {
      chunkSize: 9,
      recordedTimings: { ttftMs: 0, interChunkDelaysMs: [...Array(9).fill(0), 2_000] },
    },
    args: ['--read-timeout', '1'],
    exit: 3,
    out: 'received',
    least: 1,
    codes: null,
    says: ['silent for 1 s'],
  },
];

// Timing is measured while these are streaming, for half a second or more.
const PACE = { chunkSize: 9, latency: 20 };
export const SLOW = {
  records: { name: 'slow-records', response: { content: SHORT.slice(0, 25).join('\n') }, options: PACE },
  calls: {
    name: 'slow-calls',
    response: { blocks: blocks([...CALLS, call('list_files', { path: 'x'.repeat(150) }, 'call_e')]) },
    // These two send a call in one chunk.
    options: (provider) => (['gemini', 'ollama'].includes(provider) ? { latency: 120 } : PACE),
    args: asCalls,
    only: ['openai-responses', 'anthropic', 'gemini', 'ollama'], // calls of chat completions are complete only at the end
  },
  interrupted: { name: 'interrupted', response: { content: SHORT.join('\n') }, options: PACE },
};
