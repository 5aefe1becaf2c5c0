// Part 3, what is sent: told the same, `tokenline extract` and the provider's SDK must send the same.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { show } from './compare.mjs';
import { startTee } from './servers.mjs';
import { KEY, extract } from './tokenline.mjs';

/** Tools as the program reads them. */
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

// Strict in OpenAI's sense, and its members in no order of the alphabet: models write them as they stand.
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

// Messages and tools as OpenAI's chat has them, which is what the program reads.
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

/** What aimock answers to them; it fits the schema, and does not matter. */
const ANSWER = '{"word":"ok","about":[]}';
export const REQUEST_CASES = REQUESTS.map(({ name }) => ({ name, response: { content: ANSWER } }));

// Where the SDK sends something else, and must.
const OTHERWISE = {
  anthropic: [
    {
      why: 'tokenline asks for the version of the API that has a temperature',
      where: ['version'],
      sdk: '2026-10-21',
      own: '2023-06-01',
    },
    {
      why: 'the API takes either',
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
  const known = new Set(OTHERWISE[provider]);
  for (const { name, request } of REQUESTS) {
    await report(`extract ${provider} ${name}`, async () => {
      const asked = { model: `mock-${provider}`, ...request };
      const own = await sent(setup, name, (url) => askTokenline(setup, url, asked));
      const signal = AbortSignal.timeout(15_000);
      const theirs = await sent(setup, name, (url) => sdk.send({ url, key: KEY, request: asked, signal }));
      for (const one of OTHERWISE[provider] ?? []) if (replace(theirs.wire, one)) known.delete(one);
      return { differences: [...own.differences, ...unlike(theirs, own), ...unsaid(asked, own)] };
    });
  }
  // The list must not grow stale.
  await report(`extract ${provider} what its SDK sends otherwise`, () => ({
    differences: [...known].map(({ why }) => `no longer so: ${why}`),
  }));
}

/** Puts what tokenline sends where the SDK sends what is known; says whether it does. */
function replace(wire, { where, sdk, own }) {
  const last = where.at(-1);
  const parent = where.slice(0, -1).reduce((value, name) => value?.[name], wire);
  if (!parent || !isDeepStrictEqual(parent[last], sdk)) return false;
  if (own === undefined) delete parent[last];
  else parent[last] = own;
  return true;
}

/** What the server is sent while `ask` runs: `wire` is the request as it came, `read` what aimock makes of it. */
async function sent({ aimock }, name, ask) {
  const before = aimock.journal(name).length;
  const tee = await startTee(aimock.url);
  try {
    const differences = (await ask(tee.url)) ?? [];
    const read = aimock.journal(name).slice(before);
    if (read.length !== 1 || tee.requests.length !== 1)
      differences.push(`${tee.requests.length} requests, not 1`);
    const text = Buffer.concat(tee.requests[0]?.pieces ?? []).toString();
    return { differences, text, wire: wire(tee.requests[0], text), read: reading(read[0]) };
  } finally {
    tee.close();
  }
}

async function askTokenline(setup, url, request) {
  const { exit, out, complaint, leaks } = await extract(setup, url, args(setup, request));
  const differences = leaks.map((place) => `the key is in ${place}`);
  if (exit !== 0 || out !== `${ANSWER}\n`) differences.push(`exit ${exit}, ${show(out)}, ${complaint}`);
  return differences;
}

/** The same on the command line. */
function args({ provider, directory }, { model, system, messages, tools, schema, maxTokens, temperature }) {
  const file = (name, value) => {
    const its = path.join(directory, `${provider}.${name}.json`);
    writeFileSync(its, JSON.stringify(value));
    return its;
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

/** What counts of a request: how it is sent, with the headers that a provider asks for, and its body. */
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

/** A request as aimock reads it: the same members for every provider. */
function reading({ method, path: to, body }) {
  return JSON.parse(JSON.stringify({ method, path: to, body }));
}

function unlike(theirs, own) {
  const differing = ['wire', 'read'].filter((what) => !isDeepStrictEqual(theirs[what], own[what]));
  const line = (side, value) => `\n      ${side} ${JSON.stringify(value)}`;
  return differing.map((what) => `${what}:${line('SDK      ', theirs[what])}${line('tokenline', own[what])}`);
}

/** What aimock does not find in the request: without this, two sides that both left it out would agree. */
function unsaid({ model, system, messages, tools, schema, maxTokens, temperature }, { text, read }) {
  const { body } = read;
  const spoken = system ? [{ role: 'system', content: system }, ...messages] : messages;
  const meant = { model, stream: true, temperature, said: items(spoken), tools: tools?.map(named) };
  const found = {
    model: body.model,
    stream: body.stream,
    temperature: body.temperature,
    said: items(body.messages),
    tools: body.tools?.map((tool) => named(tool.function)),
  };
  const differences = Object.keys(meant)
    .filter((what) => !isDeepStrictEqual(meant[what], found[what]))
    .map((what) => `${what}: meant ${show(meant[what])}, aimock reads ${show(found[what])}`);
  if (maxTokens && body.max_tokens !== maxTokens) differences.push(`max_tokens: ${body.max_tokens}`);
  // Byte by byte: models write members in the order in which a schema has them.
  for (const one of [schema, ...(tools ?? []).map(({ parameters }) => parameters)]) {
    if (one && !text.includes(JSON.stringify(one)))
      differences.push(`not in the body: ${JSON.stringify(one)}`);
  }
  return differences;
}

/** Of Gemini's tools aimock reads names and descriptions only. */
function named({ name, description = '' }) {
  return { name, description };
}

/** What is said in messages, whoever puts how much of it into one: texts, calls and results. */
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

/** Gemini's results are objects: what is none is the `output` of one. */
function bare(content) {
  if (!content.startsWith('{')) return content;
  const value = JSON.parse(content);
  return value.output ?? value;
}
