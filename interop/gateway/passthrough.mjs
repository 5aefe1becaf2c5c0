// What the upstream's own clients send goes on byte for byte, and so does what comes back.

import http from 'node:http';
import { cannedBytes } from './faults.mjs';

const SYSTEM = 'You are a coding agent. \\"Quotes\\", \\u0041 escapes, 日本語 and \\ud83d\\ude00 stay.';

/** As Claude Code sends it; the model and the stream are put in. */
const CLAUDE_CODE = (model, stream) => `{
  "model": "${model}",  "max_tokens" :32000,"stream":${stream},
  "messages": [
    {"role":"user","content":[{"type":"text","text":"<system-reminder>é \\u00e9\\n</system-reminder>","cache_control":{"type":"ephemeral"}}]},
    {"role":"system","content":"${SYSTEM}"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln=="},
      {"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"ls\\t-l","n":1.0,"big":12345678901234567890}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a"}],"is_error":false}]}
  ],
  "system":[{"type":"text","text":"${SYSTEM}","cache_control":{"type":"ephemeral","ttl":"1h"}}],
  "tools":[{"name":"Bash","description":"Runs","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"},"eager_input_streaming":true},
    {"type":"web_search_20260318","name":"web_search"}],
  "metadata":{"user_id":"user_1"},"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},
  "context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},\t"x_unknown":[1e400,-0,{"":null}]
}

`;

/** As Codex sends it. */
const CODEX = (model, stream) =>
  `{"model":"${model}","instructions":"${SYSTEM}","input":[` +
  '{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions/>"}]},' +
  '{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi \\/ é"}]},' +
  '{"type":"reasoning","summary":[],"content":null,"encrypted_content":"gAAA=="},' +
  '{"type":"function_call","name":"shell","arguments":"{\\"cmd\\": [\\"ls\\"] }","call_id":"call_1"},' +
  '{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]},' +
  '{"type":"custom_tool_call","call_id":"call_2","name":"apply_patch","input":"*** Begin"},' +
  '{"type":"custom_tool_call_output","call_id":"call_2","output":"ok"}],' +
  '"tools":[{"type":"function","name":"shell","strict":false,"parameters":{"type":"object"}},' +
  '{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: x"}},' +
  '{"type":"namespace","name":"mcp"},{"type":"web_search","external_web_access":false}],"tool_choice":"auto",' +
  '"parallel_tool_calls":false,"reasoning":{"effort":"medium","summary":"auto"},"store":false,' +
  `"stream":${stream},"include":["reasoning.encrypted_content"],"prompt_cache_key":"019a","text":{"verbosity":"low"},` +
  '"client_metadata":{"x-codex-installation-id":"1"} , "stream":' +
  `${stream}}`; // a name that comes twice

const CASES = [
  {
    kind: 'anthropic',
    path: '/v1/messages',
    query: '?beta=true',
    body: CLAUDE_CODE,
    headers: {
      authorization: 'Bearer sk-client',
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14, unknown-9',
      'x-claude-code-session-id': '6f1c',
      'user-agent': 'claude-cli/2.1.165 (external, sdk-cli)',
    },
  },
  {
    kind: 'openai-responses',
    path: '/v1/responses',
    query: '',
    body: CODEX,
    headers: {
      authorization: 'Bearer sk-client',
      'session-id': '019a',
      'x-client-request-id': '019b',
      'x-codex-turn-metadata': '{"a":1}',
      'user-agent': 'codex_cli_rs/0.150.0',
    },
  },
];

/** Checks every case, streamed and whole, with `urls` by kind. */
export async function checkPassthrough({ urls, upstream, report }) {
  for (const { kind, path, query, body, headers } of CASES) {
    for (const isStreamed of [true, false]) {
      const name = `passthrough ${kind} ${isStreamed ? 'stream' : 'whole'}`;
      await report(name, async () => {
        const model = `canned@${name.replaceAll(' ', '-')}`;
        const sent = Buffer.from(body(model, isStreamed));
        const got = await post(`${urls[kind]}${path}${query}`, headers, sent);
        const [request, ...more] = upstream.requests(model);
        const differences = [];
        if (!request || more.length > 0)
          return [`the upstream got ${request ? 1 + more.length : 0} requests`];
        if (request.url !== path + query) differences.push(`path: ${request.url}`);
        if (!request.body.equals(sent)) differences.push(`request: ${request.body}`);
        for (const [header, value] of Object.entries(headers)) {
          if (request.headers[header] !== value) differences.push(`${header}: ${request.headers[header]}`);
        }
        if (got.status !== 200) differences.push(`status ${got.status}`);
        if (!got.body.equals(cannedBytes(path, isStreamed))) differences.push(`response: ${got.body}`);
        if (!/^req_upstream$/.test(got.headers['request-id'])) {
          differences.push(`request-id: ${got.headers['request-id']}`);
        }
        return differences;
      });
    }
  }
  await report('passthrough anthropic count_tokens', async () => {
    const { status, body } = await post(
      `${urls.anthropic}/v1/messages/count_tokens`,
      {},
      Buffer.from('{"model" : "canned@count"}'),
    );
    return status === 200 && `${body}` === '{ "input_tokens" : 12 }\n' ? [] : [`${status} ${body}`];
  });
  await report('count_tokens of a server without', async () => {
    const { status } = await post(
      `${urls.ollama}/v1/messages/count_tokens`,
      {},
      Buffer.from('{"model":"m","messages":[]}'),
    );
    return status === 404 ? [] : [`status ${status}`];
  });
  await report('HEAD /', async () => {
    const { status } = await fetch(urls.anthropic, { method: 'HEAD' });
    return status === 200 ? [] : [`status ${status}`];
  });
}

function post(url, headers, body) {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } };
    const request = http.request(url, options, async (response) => {
      const pieces = [];
      try {
        for await (const piece of response) pieces.push(piece);
        resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(pieces) });
      } catch (error) {
        reject(error);
      }
    });
    request.on('error', reject).end(body);
  });
}
