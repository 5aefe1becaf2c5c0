// What a conversation, and a failure, must look like, for every client.

import { isDeepStrictEqual } from 'node:util';
import { ARGUMENTS, answer, result, tool, usage } from './conversation.mjs';

const CALL = { name: tool.name, arguments: ARGUMENTS };
const REASONS = {
  chat: ['tool_calls', 'stop'],
  responses: ['completed', 'completed'],
  anthropic: ['tool_use', 'end_turn'],
  'ai-sdk': ['tool-calls', 'stop'],
};

/** Collects differences. */
function comparison() {
  const differences = [];
  const differ = (name, expected, actual) => {
    if (isDeepStrictEqual(expected, actual)) return;
    differences.push(`${name}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
  };
  return { differences, differ };
}

/** The differences of a conversation: what the client saw, and what the upstream got. */
export function judgeConversation({ client, family, kind, seen, requests }) {
  const { differences, differ } = comparison();
  differ('calls', [CALL], seen.calls);
  differ('text beside the call', family === 'preface' ? 'Let me look.' : '', (seen.preface ?? '').trim());
  differ('finish reasons', REASONS[client.isAiSdk ? 'ai-sdk' : client.wire], seen.reasons);
  differ('usage', [usage, usage], seen.usages);
  differ('answer', answer, seen.text);
  differ('requests of the upstream', 2, requests.length);
  if (requests.length !== 2) return differences;

  const [first, second] = requests.map(({ body }) => JSON.parse(body));
  const { name, parameters } = first.tools?.[0]?.function ?? {};
  differ('name of the tool', tool.name, name);
  differ('parameters of the tool', tool.parameters.properties, parameters?.properties);
  const at = second.messages.findIndex(({ role }) => role === 'tool');
  const [call, answered] = [second.messages[at - 1], second.messages[at]];
  const sent = call?.tool_calls?.[0];
  differ('result of the tool', result, answered?.content);
  differ('name of the call that comes back', tool.name, sent?.function.name);
  const text = sent?.function.arguments;
  differ('arguments that come back', ARGUMENTS, kind === 'ollama' ? text : JSON.parse(text ?? 'null'));
  if (kind === 'ollama') differ('tool_name', tool.name, answered?.tool_name);
  else differ('tool_call_id', sent?.id, answered?.tool_call_id);
  return differences;
}

/** What a thrown error says: its class with its ancestors, status, and message. */
export function described(error) {
  const classes = [];
  for (let at = Object.getPrototypeOf(error); at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    classes.push(at.constructor.name);
  }
  return {
    classes,
    status: error.status ?? error.statusCode ?? null,
    retryAfter: error.headers?.get?.('retry-after') ?? error.responseHeaders?.['retry-after'] ?? null,
    message: String(error.message),
  };
}

const CLASSES = { 'status-429': 'RateLimitError', 'status-500': 'InternalServerError' };
const MESSAGES = {
  'status-429': 'no luck today',
  'status-500': 'no luck today',
  'error-event': 'out of memory',
};

/** Why a failure differs, if that is not the proxy's to change. `retries` is `no` or `default`. */
function known({ client, fault, retries }) {
  if (client.isStream || CLASSES[fault]) return null;
  return client.ignoresShouldRetry && retries === 'default' ? 'x-should-retry is ignored' : null;
}

/** The differences of a failure: what the client threw, and what the upstream got. Those that are known must be there. */
export function judgeFault(failure) {
  const [differences, reason] = [differencesOf(failure), known(failure)];
  if (!reason) return differences;
  return differences.length > 0 ? [] : [`no difference any more: ${reason}`];
}

function differencesOf({ client, fault, thrown, requests }) {
  const { differences, differ } = comparison();
  differ('requests of the upstream', 1, requests.length);
  if (!thrown) return [...differences, 'nothing was thrown'];
  const isBegun = client.isStream && !CLASSES[fault];
  const ofAiSdk = isBegun ? 'AISDKError' : 'APICallError';
  const expected = client.isAiSdk ? ofAiSdk : (CLASSES[fault] ?? 'APIError');
  const has = (name) => thrown.classes.some((one) => one.replace(/^_+/, '') === name);
  if (!has(expected)) {
    differences.push(`class: expected ${expected}, got ${thrown.classes.join(' < ')}: ${thrown.message}`);
  }
  if (fault.startsWith('status-')) differ('status', Number(fault.slice(7)), thrown.status);
  if (fault === 'status-429') differ('retry-after', '2', thrown.retryAfter);
  if (MESSAGES[fault] && !thrown.message.includes(MESSAGES[fault])) {
    differences.push(`message: expected ${MESSAGES[fault]}, got ${thrown.message}`);
  }
  return differences;
}
