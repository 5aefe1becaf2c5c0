// What providers send and aimock cannot: errors in the middle of a stream, pings, the real finish reasons, CRLF, thinking
// under its real name. Written by hand from the providers' documentation.

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
