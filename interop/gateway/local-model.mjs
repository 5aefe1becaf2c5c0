// A real model behind the proxy: three turns with a tool, from the `openai` library.

import { MODES, connect } from './clients/openai-chat.mjs';
import { tool } from './conversation.mjs';
import { startModel, startProxy } from './programs.mjs';

/** What the model may write: a call of the tool, as models of the Hermes family write it. The arguments are its own. */
const CALL = String.raw`
root ::= "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"" city "\", \"days\": " [1-9] "}}\n</tool_call>"
city ::= [A-Z] [a-z]{2,12}
`;
/** The same without the days, which the tool requires: its call is rejected. */
const INCOMPLETE = CALL.replace(String.raw`, \"days\": " [1-9] "`, '');
const SENTENCE = 'root ::= [A-Z] [a-z ]{8,40} "."';

const TURNS = [
  ['whole', 'How is the weather in Paris in the next days?'],
  ['stream', 'And in Oslo?'],
  ['helper', 'And where you live?'],
];

export async function checkLocalModel({ program, report }) {
  const model = await startModel();
  if (!model) return console.log('!!! SKIPPED: the real model is not installed; scripts/local-model install');
  const options = ['--tools-in-prompt', '--call-format', 'hermes'];
  const proxy = await startProxy(program, `openai-chat=${model}`, ...options);
  await report('a real model: three turns with a tool', () => threeTurns(proxy));
  await report('a real model: a call that is rejected', () => rejected(proxy));
}

const grammarOf = (grammar) => ({ model: 'gemma-3-270m', max_tokens: 80, seed: 7, grammar });
const tools = [{ type: 'function', function: tool }];

async function threeTurns(proxy) {
  const differences = [];
  const check = (what, holds, seen) => holds || differences.push(`${what}: ${JSON.stringify(seen)}`);
  const client = connect({ url: proxy.url, maxRetries: 0 });
  const messages = [];
  let before = 0;
  const ask = async (mode, grammar) => {
    const seen = await MODES[mode](client, { ...grammarOf(grammar), tools, messages });
    messages.push(seen.message);
    // What was said before is in the prompt.
    check('tokens of the prompt', seen.usage.prompt_tokens > before, [before, seen.usage]);
    before = seen.usage.prompt_tokens;
    return seen;
  };
  for (const [mode, question] of TURNS) {
    messages.push({ role: 'user', content: question });
    const { message, reason } = await ask(mode, CALL);
    const calls = message.tool_calls ?? [];
    check(`${mode}: calls`, calls.length === 1 && reason === 'tool_calls', [message, reason]);
    for (const { id, function: call } of calls) {
      const { city, days } = JSON.parse(call.arguments);
      check(`${mode}: arguments`, call.name === tool.name && /^[A-Z][a-z]+$/.test(city) && days >= 1, call);
      messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify({ city, temperature: 21 }) });
    }
    const answer = await ask(mode, SENTENCE);
    const { content, tool_calls } = answer.message;
    check(`${mode}: answer`, /^[A-Z].*\.$/.test(content) && !tool_calls && answer.reason === 'stop', answer);
  }
  const read = proxy.log().match(/ calls_in_text=1 /g)?.length;
  check('calls in the text', read === TURNS.length, proxy.log());
  return differences;
}

async function rejected(proxy) {
  const client = connect({ url: proxy.url, maxRetries: 0 });
  const body = { ...grammarOf(INCOMPLETE), tools, messages: [{ role: 'user', content: TURNS[0][1] }] };
  const thrown = await MODES.whole(client, body).then(() => null, (error) => error);
  return thrown?.status === 502 && /days/.test(thrown.message) ? [] : [`the error: ${thrown}`];
}
