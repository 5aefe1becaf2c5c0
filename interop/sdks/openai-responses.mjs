// OpenAI responses, decoded by the `openai` package.

import OpenAI from 'openai';
import { drain, failure, parsedCalls } from './response.mjs';

export const provider = 'openai-responses';
export const extension = 'sse';

const CALLS = ['function_call', 'custom_tool_call'];
const TERMINAL = ['response.completed', 'response.incomplete', 'response.failed'];

/** Requests a stream, and collects what the SDK decodes. */
export async function ask({ url, model, prompt, signal }) {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0, logLevel: 'off' });
  const stream = client.responses.stream({ model, input: prompt }, { signal });
  // Collect fragments in case the stream breaks: the SDK returns its snapshot only at the end.
  const fragments = { text: '', reasoning: '', refusal: '', calls: new Map() };
  let terminal = null;
  stream.on('event', (event) => {
    if (TERMINAL.includes(event.type)) terminal = event.type.split('.')[1];
    if (event.type === 'response.output_text.delta') fragments.text += event.delta;
    if (event.type === 'response.refusal.delta') fragments.refusal += event.delta;
    if (event.type === 'response.reasoning_summary_text.delta') fragments.reasoning += event.delta;
    if (event.type === 'response.reasoning_text.delta') fragments.reasoning += event.delta;
    if (event.type === 'response.output_item.added' && CALLS.includes(event.item.type)) {
      fragments.calls.set(event.output_index, rawCall(event.item));
    }
    if (event.type === 'response.function_call_arguments.delta') {
      fragments.calls.get(event.output_index).text += event.delta;
    }
    if (event.type === 'response.output_item.done' && event.item.type === 'custom_tool_call') {
      fragments.calls.set(event.output_index, rawCall(event.item));
    }
  });
  let error = null;
  let response = null;
  try {
    response = await stream.finalResponse();
  } catch (thrown) {
    error = failure(thrown);
  }
  // The SDK throws neither for a missing end nor for a failed response.
  if (!error && terminal === 'failed') error = `response.failed: ${response.error?.code}`;
  const ended = !error && terminal !== null;
  return { ...(ended ? whole(response, terminal, fragments) : broken(fragments)), ended, error };
}

function whole(response, terminal, { reasoning }) {
  const of = (type) => response.output.filter((item) => item.type === type);
  const parts = of('message').flatMap(({ content }) => content);
  const thoughts = of('reasoning').flatMap(({ summary, content }) => [...summary, ...(content ?? [])]);
  const raw = response.output.filter(({ type }) => CALLS.includes(type)).map(rawCall);
  return {
    text: response.output_text,
    // aimock does not repeat it at the end.
    reasoning: thoughts.map(({ text }) => text).join('') || reasoning,
    opaque: of('reasoning').flatMap((item) => item.encrypted_content ?? []),
    refusal: parts
      .filter(({ type }) => type === 'refusal')
      .map(({ refusal }) => refusal)
      .join(''),
    ...parsedCalls(raw, terminal === 'completed'),
    // aimock ends with the event `response.completed` and a different status: include both.
    reason: response.incomplete_details?.reason ?? [...new Set([terminal, response.status])].join(' '),
    usage: response.usage ? [response.usage.input_tokens, response.usage.output_tokens] : null,
  };
}

/** tokenline represents the input of a custom tool, any text, as `{"input": "..."}`. */
function rawCall({ type, call_id: id, name, input, arguments: text }) {
  return { id, name, text: type === 'custom_tool_call' ? JSON.stringify({ input }) : text };
}

function broken({ text, reasoning, refusal, calls }) {
  return { text, reasoning, refusal, ...parsedCalls([...calls.values()], false), reason: null, usage: null };
}

/** Sends `request` (see `requests.mjs`) with the SDK; ignores the response. */
export async function send({ url, key, request, signal }) {
  const { model, system, messages, tools, schema, maxTokens, temperature } = request;
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, logLevel: 'off' });
  const stream = await client.responses.create(
    {
      model,
      instructions: system,
      input: messages.flatMap(items),
      tools: tools?.map((tool) => ({ type: 'function', ...tool, strict: false })),
      text: schema && { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
      max_output_tokens: maxTokens,
      temperature,
      stream: true,
    },
    { signal },
  );
  await drain(stream);
}

/** Every call is a separate item. */
function items({ role, content, tool_calls: calls = [], tool_call_id: id }) {
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id, output: content }];
  const said = content ? [{ type: 'message', role, content }] : [];
  const called = calls.map((call) => ({ type: 'function_call', call_id: call.id, ...call.function }));
  return [...said, ...called];
}
