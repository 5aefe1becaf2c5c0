// The providers, in the order of the checks.

import * as anthropic from './anthropic.mjs';
import * as bedrock from './bedrock.mjs';
import * as gemini from './gemini.mjs';
import * as ollama from './ollama.mjs';
import * as openaiChat from './openai-chat.mjs';
import * as openaiResponses from './openai-responses.mjs';

export const SDKS = [openaiChat, openaiResponses, anthropic, gemini, ollama];

/** The providers that can be replayed, including those that aimock does not support. */
export const REPLAYED = [...SDKS, bedrock];
