// The providers, in the order they are checked.

import * as anthropic from './anthropic.mjs';
import * as bedrock from './bedrock.mjs';
import * as gemini from './gemini.mjs';
import * as ollama from './ollama.mjs';
import * as openaiChat from './openai-chat.mjs';
import * as openaiResponses from './openai-responses.mjs';

export const SDKS = [openaiChat, openaiResponses, anthropic, gemini, ollama];

/** Those that can be served: also what aimock does not know. */
export const REPLAYED = [...SDKS, bedrock];
