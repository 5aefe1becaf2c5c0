import * as aiSdk from './ai-sdk.mjs';
import * as anthropic from './anthropic.mjs';
import * as langchain from './langchain.mjs';
import * as openaiChat from './openai-chat.mjs';
import * as openaiResponses from './openai-responses.mjs';

/**
 * Every client of npm, as { name, wire, isStream, converse, fail }. Both functions take { url, model, maxRetries }: `converse` has the
 * conversation, and returns { calls, preface, reasons, usages, text }; `fail` asks once, and must throw.
 */
export const CLIENTS = [openaiChat, openaiResponses, anthropic, aiSdk, langchain].flatMap(
  ({ clients }) => clients,
);
