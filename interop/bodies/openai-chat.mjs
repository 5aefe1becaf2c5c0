// OpenAI chat completions.

import { crlf, sse } from './frames.mjs';

const chunk = (delta, finish_reason = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-x',
  choices: [{ index: 0, delta, finish_reason }],
});
export const openaiChat = {
  'error-in-text': sse([
    chunk({ role: 'assistant', content: '', refusal: null }),
    chunk({ content: 'Half a sen' }),
    { error: { message: 'The server had an error', type: 'server_error', param: null, code: null } },
  ]),
  refusal:
    sse([
      chunk({ role: 'assistant', content: null, refusal: '' }),
      chunk({ refusal: 'I cannot ' }),
      chunk({ refusal: 'say that.' }),
      chunk({}, 'stop'),
    ]) + 'data: [DONE]\n\n',
  crlf: crlf([chunk({ role: 'assistant', content: '' }), chunk({ content: 'Grüße' }), chunk({}, 'stop')]),
};
