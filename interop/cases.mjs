// The responses of aimock. A case is { name, response, options?, only?, halved?, broken? }:
//   response, options  as in aimock's types.d.ts; `options` are chunkSize, latency, chaos and so on
//   only               the providers of the case; default: all
//   halved             aimock splits surrogate pairs, as it counts UTF-16 units
//   broken             the response has no end; both sides must notice that

const OPENAI = ['openai-chat', 'openai-responses'];

// Several lines, characters of two and three bytes (in EMOJI four, some joined), and characters that JSON must escape.
const LINES = [
  'Señor Müller said: "it\'s 5 \\ 3", then left.',
  '',
  '\tTab, C:\\new\\table, \\u0041 and \\" stay as they are; <b>&amp;</b> too.',
  '日本語の文、עברית, नमस्ते, e\u0301, \u2028 and \u00a0.',
  'data: [DONE] and event: ping are words here.',
];
const TEXT = LINES.join('\n');
const EMOJI = [...LINES, 'Emoji: 😀 👩‍👩‍👧 🇳🇴, and 𝒳 beyond the first plane.'].join('\n');

const NESTED = {
  city: 'Zürich "Altstadt" \\',
  range: { from: -1.5e-3, to: 12345678901, open: [true, false, null] },
  'odd key\n': [[], {}, [{ deep: [[{ '': '' }]] }], '}{][,:'],
  note: 'line one\nline two\u2028\t"quoted"',
};
const USAGE = { input_tokens: 12, output_tokens: 34 };

const call = (name, parameters, id) => ({ name, arguments: JSON.stringify(parameters), ...(id && { id }) });
const NESTED_CALL = call('get_weather', NESTED, 'call_nested_1');
const PARALLEL = [
  call('get_weather', { city: 'Oslo' }, 'call_a'),
  call('get_weather', { city: 'Lima', unit: 'c' }, 'call_b'),
  call('list_files', {}, 'call_c'),
  call('get_time', { zones: ['Africa/Accra', 'America/Lima'] }, 'call_d'),
];
const REASONING = 'First, think: "is it ü?"\nThen\\answer.';

export const CASES = [
  { name: 'text', response: { content: TEXT, usage: USAGE } },
  { name: 'text-in-sevens', response: { content: TEXT }, options: { chunkSize: 7 } },
  { name: 'text-in-one-piece', response: { content: EMOJI }, options: { chunkSize: 100_000 } },
  { name: 'text-in-ones', response: { content: TEXT }, options: { chunkSize: 1 } },
  // aimock splits between UTF-16 units: "\ud83d" and "\ude00" come in two events. JavaScript joins them.
  { name: 'text-halved', response: { content: EMOJI }, options: { chunkSize: 1 }, halved: true },
  { name: 'text-slowly', response: { content: TEXT }, options: { chunkSize: 16, latency: 4 } },
  { name: 'text-empty', response: { content: '' } },
  {
    name: 'text-with-records',
    response: { content: 'Here you are:\n{"a":1}\n{"a":{"b":["}",2]}}\nThat is all.' },
  },
  { name: 'call', response: { toolCalls: [NESTED_CALL], usage: USAGE } },
  { name: 'call-in-ones', response: { toolCalls: [NESTED_CALL] }, options: { chunkSize: 1 } },
  { name: 'call-in-sevens', response: { toolCalls: [NESTED_CALL] }, options: { chunkSize: 7 } },
  {
    name: 'call-in-one-piece',
    response: { toolCalls: [call('search', { query: '😀 "🇳🇴"', '𝒳': NESTED }, 'call_i')] },
    options: { chunkSize: 100_000 },
  },
  {
    name: 'call-halved',
    response: { toolCalls: [call('search', { query: '😀' }, 'call_h')] },
    options: { chunkSize: 1 },
    halved: true,
  },
  { name: 'call-slowly', response: { toolCalls: [NESTED_CALL] }, options: { chunkSize: 24, latency: 4 } },
  { name: 'call-without-id', response: { toolCalls: [call('get_weather', { city: 'Oslo' })] } },
  {
    name: 'call-without-arguments',
    response: { toolCalls: [{ name: 'list_files', arguments: '', id: 'call_e' }] },
  },
  { name: 'call-with-empty-object', response: { toolCalls: [call('list_files', {}, 'call_f')] } },
  { name: 'calls-parallel', response: { toolCalls: PARALLEL } },
  { name: 'calls-parallel-in-ones', response: { toolCalls: PARALLEL }, options: { chunkSize: 1 } },
  { name: 'text-and-call', response: { content: TEXT, toolCalls: [NESTED_CALL] } },
  {
    name: 'call-text-call',
    response: {
      blocks: [
        { type: 'toolCall', ...PARALLEL[0] },
        { type: 'text', text: 'One more: "ü".\n' },
        { type: 'toolCall', ...PARALLEL[3] },
      ],
    },
  },
  { name: 'reasoning-and-text', response: { content: TEXT, reasoning: REASONING } },
  { name: 'reasoning-and-call', response: { toolCalls: [NESTED_CALL], reasoning: REASONING } },
  {
    name: 'reasoning-in-ones',
    response: { content: 'So: 42.', reasoning: REASONING },
    options: { chunkSize: 1 },
  },
  {
    name: 'reasoning-redacted',
    response: { content: 'So: 42.', redactedThinking: ['b3BhcXVl'] },
    only: ['anthropic'],
  },
  { name: 'web-search', response: { content: 'Found.', webSearches: ['fjord'] }, only: ['openai-responses'] },
  {
    name: 'length',
    response: { content: 'This goes on and', finishReason: 'length' },
    only: [...OPENAI, 'anthropic', 'gemini'], // for Ollama it always sends `stop`
  },
  {
    name: 'content-filter',
    response: { content: 'This must not', finishReason: 'content_filter' },
    // For OpenAI Responses it sends `response.completed` with the status `failed`, which the API never does.
    only: ['openai-chat', 'anthropic', 'gemini'],
  },
  // For the other providers, aimock parses the arguments and sends `{}` if they are not JSON.
  {
    name: 'length-cuts-call',
    response: {
      toolCalls: [PARALLEL[0], { name: 'get_time', arguments: '{"zones":["Afr', id: 'call_g' }],
      finishReason: 'length',
    },
    only: OPENAI,
  },
  {
    name: 'reset-in-text',
    response: { content: TEXT },
    options: { latency: 3, truncateAfterChunks: 6 },
    broken: true,
  },
  {
    name: 'reset-in-call',
    response: { toolCalls: PARALLEL },
    options: { chunkSize: 8, latency: 3, truncateAfterChunks: 9 },
    broken: true,
    only: [...OPENAI, 'anthropic'],
  },
  {
    name: 'reset-between-calls',
    response: { blocks: PARALLEL.map((one) => ({ type: 'toolCall', ...one })) },
    options: { latency: 3, truncateAfterChunks: 3 },
    broken: true,
    only: ['gemini', 'ollama'], // one chunk per call
  },
  {
    name: 'reset-by-clock',
    response: { content: TEXT },
    options: { chunkSize: 4, latency: 10, disconnectAfterMs: 75 },
    broken: true,
  },
  {
    name: 'reset-before-anything',
    response: { content: TEXT },
    options: { chaos: { disconnectRate: 1 } },
    broken: true,
  },
  { name: 'malformed', response: { content: TEXT }, options: { chaos: { malformedRate: 1 } }, broken: true },
  { name: 'status-500', response: { content: TEXT }, options: { chaos: { dropRate: 1 } }, broken: true },
  { name: 'status-429', response: { content: TEXT }, options: { chaos: { rateLimitRate: 1 } }, broken: true },
];

/** The expected response of a case, as far as aimock and the wire format can express it. */
export function expected({ response }, provider) {
  const texts = response.blocks?.filter(({ type }) => type === 'text').map(({ text }) => text);
  const calls = response.blocks?.filter(({ type }) => type === 'toolCall') ?? response.toolCalls ?? [];
  return {
    text: response.content ?? texts?.join('') ?? '',
    // aimock sends `reasoning_content` instead of Ollama's `thinking`, so the SDK sees none.
    reasoning: provider === 'ollama' ? '' : (response.reasoning ?? ''),
    calls: calls.flatMap(({ name, arguments: text }) => {
      try {
        return [{ name, arguments: JSON.parse(text || '{}') }];
      } catch {
        return []; // cut on purpose
      }
    }),
  };
}
