// Gemini streamGenerateContent.

import { crlf } from './frames.mjs';

const candidate = (parts, finishReason) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...(finishReason && { finishReason }) }],
  usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 9, totalTokenCount: 13 },
  modelVersion: 'gemini-x',
  responseId: 'r1',
});
export const gemini = {
  thinking: crlf([
    candidate([{ text: 'Hm, "ü".', thought: true }]),
    candidate([{ text: 'Grü' }]),
    candidate([{ text: 'ße' }], 'STOP'),
  ]),
  calls: crlf([
    candidate([
      { functionCall: { name: 'get_weather', args: { city: 'Oslo' } }, thoughtSignature: 'b3BhcXVl' },
    ]),
    candidate([
      { functionCall: { id: 'c2', name: 'list_files', args: {} } },
      { functionCall: { name: 'list_files', args: {} } },
    ]),
    candidate([{ text: '' }], 'STOP'),
  ]),
  length: crlf([candidate([{ text: 'This goes' }]), candidate([{ text: ' on and' }], 'MAX_TOKENS')]),
  blocked: crlf([candidate([{ text: 'This' }]), { candidates: [{ index: 0, finishReason: 'SAFETY' }] }]),
  'error-in-text': crlf([
    candidate([{ text: 'Half a sen' }]),
    { error: { code: 503, message: 'Overloaded', status: 'UNAVAILABLE' } },
  ]),
};
