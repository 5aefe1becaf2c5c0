// What aimock cannot say and the providers do: errors in the middle of a stream, pings, the real names of the
// ends, CRLF, thinking under its real name. Written by hand, after the providers' documentation.

import { anthropic } from './anthropic.mjs';
import { gemini } from './gemini.mjs';
import { ollama } from './ollama.mjs';
import { openaiChat } from './openai-chat.mjs';
import { openaiResponses } from './openai-responses.mjs';

export const HANDWRITTEN = {
  'openai-chat': openaiChat,
  'openai-responses': openaiResponses,
  anthropic,
  gemini,
  ollama,
};
