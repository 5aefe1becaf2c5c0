// Ollama /api/chat.

import { lines } from './frames.mjs';

const line = (said, done = false, rest = {}) => ({
  model: 'm',
  created_at: '2026-01-01T00:00:00.000000Z',
  message: { role: 'assistant', content: '', ...said },
  done,
  ...rest,
});
const done = (done_reason) =>
  line({}, true, { done_reason, total_duration: 5, prompt_eval_count: 4, eval_count: 9 });
const weather = (city, rest = {}) =>
  line({ tool_calls: [{ ...rest, function: { name: 'get_weather', arguments: { city } } }] });
export const ollama = {
  thinking: lines([
    line({ thinking: 'Hm, ' }),
    line({ thinking: '"ü".' }),
    line({ content: 'Grü' }),
    line({ content: 'ße' }),
    done('stop'),
  ]),
  calls: lines([weather('Oslo'), weather('Lima', { id: 'call_1' }), done('stop')]),
  length: lines([line({ content: 'This goes on and' }), done('length')]),
  'error-in-text': lines([
    line({ content: 'Half a sen' }),
    { error: 'an error was encountered while running the model' },
  ]),
};
