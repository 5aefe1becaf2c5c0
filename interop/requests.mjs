// Part 3, requests: with the same input, `tokenline extract` and the provider's SDK must send the same request.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { show } from './compare.mjs';
import { startTee } from './servers.mjs';
import { KEY, extract } from './tokenline.mjs';

/** Tools in the program's format. */
export const TOOLS = [
  {
    name: 'get_weather',
    description: 'The weather in a "city",\nnow.',
    parameters: {
      type: 'object',
      properties: {
        zone: { type: 'string', description: 'où?' },
        city: { type: 'string' },
        days: { type: 'integer', minimum: 1, maximum: 7 },
      },
      required: ['city'],
    },
  },
  { name: 'list_files', parameters: { type: 'object', properties: {} } },
];

// Strict in OpenAI's sense, with members not in alphabetical order: models write them in the order of the schema.
const SCHEMA = {
  type: 'object',
  properties: {
    word: { type: 'string', description: 'as it stands' },
    about: { type: 'array', items: { type: 'string', enum: ['ü', '"'] } },
  },
  required: ['word', 'about'],
  additionalProperties: false,
};

const user = (content) => ({ role: 'user', content });
const assistant = (content, ...calls) => ({
  role: 'assistant',
  content,
  ...(calls.length > 0 && {
    tool_calls: calls.map(([id, name, values]) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(values) },
    })),
  }),
});
const result = (tool_call_id, content) => ({ role: 'tool', tool_call_id, content });

// Messages and tools in OpenAI's chat format, which the program reads.
const REQUESTS = [
  { name: 'request-plain', request: { messages: [user('request-plain')] } },
  {
    name: 'request-settings',
    request: {
      system: 'One JSON object a line:\n{"größe", "n"}. Nothing else 😀.',
      messages: [user('request-settings')],
      maxTokens: 300,
      temperature: 0.25,
    },
  },
  {
    name: 'request-tools',
    request: { messages: [user('request-tools')], tools: TOOLS, temperature: 0 },
  },
  { name: 'request-schema', request: { messages: [user('request-schema')], schema: SCHEMA } },
  {
    name: 'request-conversation',
    request: {
      system: 'Be brief.',
      messages: [
        user('The weather in "Zürich" and in Oslo?'),
        assistant(
          'Let me look.',
          ['call_a', 'get_weather', { city: 'Zürich', days: 1 }],
          ['call_b', 'get_weather', { city: 'Oslo', nested: [{ '': null }] }],
        ),
        result('call_a', '{"degrees":21.5,"sky":"clear"}'),
        result('call_b', 'rain,\n7 degrees'),
        assistant('21.5 and 7 degrees.'),
        user('request-conversation'),
      ],
      tools: TOOLS,
    },
  },
  {
    name: 'request-after-tools',
    request: {
      messages: [
        user('request-after-tools'),
        assistant(null, ['call_c', 'list_files', {}], ['call_d', 'get_weather', { city: 'Lima' }]),
        result('call_c', '["a.txt"]'),
        result('call_d', ''),
      ],
      tools: TOOLS,
    },
  },
];

/** The response of aimock to all of them; it satisfies the schema. */
const RESPONSE = '{"word":"ok","about":[]}';
export const REQUEST_CASES = REQUESTS.map(({ name }) => ({ name, response: { content: RESPONSE } }));

// The known differences of the SDK's requests.
const KNOWN_DIFFERENCES = {
  anthropic: [
    {
      why: 'tokenline requests the API version that supports a temperature',
      where: ['version'],
      sdk: '2026-10-21',
      own: '2023-06-01',
    },
    {
      why: 'the API accepts either',
      where: ['key'],
      sdk: [['authorization', `Bearer ${KEY}`]],
      own: [['x-api-key', KEY]],
    },
  ],
  gemini: [
    { why: 'an empty object', where: ['body', 'generationConfig'], sdk: {}, own: undefined },
    {
      why: 'instructions have no role',
      where: ['body', 'systemInstruction', 'role'],
      sdk: 'user',
      own: undefined,
    },
  ],
};

/** Sends every request both ways. `setup` is as in `extract.mjs`. */
export async function checkRequests(setup, report) {
  const { provider, sdk } = setup;
  const known = new Set(KNOWN_DIFFERENCES[provider]);
  for (const { name, request } of REQUESTS) {
    await report(`extract ${provider} ${name}`, async () => {
      const input = { model: `mock-${provider}`, ...request };
      const own = await sent(setup, name, (url) => runTokenline(setup, url, input));
      const signal = AbortSignal.timeout(15_000);
      const theirs = await sent(setup, name, (url) => sdk.send({ url, key: KEY, request: input, signal }));
      for (const one of KNOWN_DIFFERENCES[provider] ?? []) if (replace(theirs.wire, one)) known.delete(one);
      return { differences: [...own.differences, ...requestDifferences(theirs, own), ...missing(input, own)] };
    });
  }
  // The list must stay current.
  await report(`extract ${provider} known differences of its SDK`, () => ({
    differences: [...known].map(({ why }) => `no longer a difference: ${why}`),
  }));
}

/** Replaces a known difference in the SDK's request by what tokenline sends. Returns whether it was there. */
function replace(wire, { where, sdk, own }) {
  const last = where.at(-1);
  const parent = where.slice(0, -1).reduce((value, name) => value?.[name], wire);
  if (!parent || !isDeepStrictEqual(parent[last], sdk)) return false;
  if (own === undefined) delete parent[last];
  else parent[last] = own;
  return true;
}

/** The request that `send` sends: `wire` as received, `read` as aimock reads it. */
async function sent({ aimock }, name, send) {
  const before = aimock.journal(name).length;
  const tee = await startTee(aimock.url);
  try {
    const differences = (await send(tee.url)) ?? [];
    const read = aimock.journal(name).slice(before);
    if (read.length !== 1 || tee.requests.length !== 1)
      differences.push(`${tee.requests.length} requests, not 1`);
    const text = Buffer.concat(tee.requests[0]?.pieces ?? []).toString();
    return { differences, text, wire: wire(tee.requests[0], text), read: reading(read[0]) };
  } finally {
    tee.close();
  }
}

async function runTokenline(setup, url, request) {
  const { exit, out, complaint, leaks } = await extract(setup, url, args(setup, request));
  const differences = leaks.map((place) => `the key is in ${place}`);
  if (exit !== 0 || out !== `${RESPONSE}\n`) differences.push(`exit ${exit}, ${show(out)}, ${complaint}`);
  return differences;
}

/** The same request as command-line arguments. */
function args({ provider, directory }, { model, system, messages, tools, schema, maxTokens, temperature }) {
  const file = (name, value) => {
    const target = path.join(directory, `${provider}.${name}.json`);
    writeFileSync(target, JSON.stringify(value));
    return target;
  };
  const prompt = messages.at(-1).role === 'user' ? messages.at(-1).content : undefined;
  const before = prompt === undefined ? messages : messages.slice(0, -1);
  return [
    ['--model', model],
    ['--prompt', prompt],
    ['--system', system],
    ['--messages', before.length > 0 ? file('messages', before) : undefined],
    ['--tools', tools && file('tools', tools)],
    ['--schema', schema && file('schema', schema)],
    ['--response-format', schema && 'schema'],
    ['--max-tokens', maxTokens],
    ['--temperature', temperature],
  ].flatMap(([option, value]) => (value === undefined ? [] : [option, String(value)]));
}

/** The relevant parts of a request: method, path, the headers that a provider requires, and the body. */
function wire({ method, path: to, headers }, text) {
  return {
    method,
    path: to,
    type: headers['content-type'],
    version: headers['anthropic-version'],
    key: Object.entries(headers).filter(([, value]) => value.includes(KEY)),
    body: JSON.parse(text),
  };
}

/** A request as aimock reads it, with the same members for every provider. */
function reading({ method, path: to, body }) {
  return JSON.parse(JSON.stringify({ method, path: to, body }));
}

function requestDifferences(theirs, own) {
  const differing = ['wire', 'read'].filter((part) => !isDeepStrictEqual(theirs[part], own[part]));
  const line = (side, value) => `\n      ${side} ${JSON.stringify(value)}`;
  return differing.map((part) => `${part}:${line('SDK      ', theirs[part])}${line('tokenline', own[part])}`);
}

/** The parts that aimock does not find in the request: without this check, two sides that omit a part would agree. */
function missing({ model, system, messages, tools, schema, maxTokens, temperature }, { text, read }) {
  const { body } = read;
  const spoken = system ? [{ role: 'system', content: system }, ...messages] : messages;
  const expected = { model, stream: true, temperature, said: items(spoken), tools: tools?.map(named) };
  const actual = {
    model: body.model,
    stream: body.stream,
    temperature: body.temperature,
    said: items(body.messages),
    tools: body.tools?.map((tool) => named(tool.function)),
  };
  const differences = Object.keys(expected)
    .filter((part) => !isDeepStrictEqual(expected[part], actual[part]))
    .map((part) => `${part}: expected ${show(expected[part])}, aimock reads ${show(actual[part])}`);
  if (maxTokens && body.max_tokens !== maxTokens) differences.push(`max_tokens: ${body.max_tokens}`);
  // Byte by byte: models write members in the order of the schema.
  for (const one of [schema, ...(tools ?? []).map(({ parameters }) => parameters)]) {
    if (one && !text.includes(JSON.stringify(one)))
      differences.push(`not in the body: ${JSON.stringify(one)}`);
  }
  return differences;
}

/** aimock reads only names and descriptions of Gemini's tools. */
function named({ name, description = '' }) {
  return { name, description };
}

/** The texts, calls and results of messages, however they are grouped into messages. */
function items(messages) {
  return messages.flatMap(({ role, content, tool_calls: calls = [] }) => {
    if (role === 'tool') return [{ result: bare(content) }];
    const said = content ? [{ role, content }] : [];
    const called = calls.map(({ function: { name, arguments: text } }) => ({
      name,
      values: JSON.parse(text),
    }));
    return [...said, ...called];
  });
}

/** Gemini's results are objects: any other result is the `output` of one. */
function bare(content) {
  if (!content.startsWith('{')) return content;
  const value = JSON.parse(content);
  return value.output ?? value;
}
