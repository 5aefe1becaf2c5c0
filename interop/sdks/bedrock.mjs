// Amazon Bedrock's ConverseStream, decoded by `@aws-sdk/client-bedrock-runtime`. Only for part 2: aimock does not support
// it.

import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { failure, parsedCalls } from './response.mjs';
import { eventStream } from './event-stream.mjs';

export const provider = 'bedrock';
export const extension = 'messages';
/** Fixtures list messages, which AWS's codec encodes. */
export const encode = eventStream;

/** Requests a stream, and collects what the SDK decodes. */
export async function ask({ url, model, prompt, signal }) {
  const client = new BedrockRuntimeClient({
    endpoint: url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'none', secretAccessKey: 'none' },
    requestHandler: new NodeHttpHandler(),
    maxAttempts: 1,
  });
  const seen = { text: '', reasoning: '', opaque: [], blocks: new Map(), reason: null, usage: null, ended: false };
  let error = null;
  try {
    const command = new ConverseStreamCommand({
      modelId: model,
      messages: [{ role: 'user', content: [{ text: prompt }] }],
    });
    const { stream } = await client.send(command, { abortSignal: signal });
    for await (const event of stream) add(seen, event);
  } catch (thrown) {
    error = failure(thrown);
  }
  client.destroy();
  const { text, reasoning, opaque, blocks, reason, usage } = seen;
  const stopped = [...blocks.values()].filter(({ isStopped }) => isStopped);
  const { calls, cut } = parsedCalls(stopped, true);
  const open = [...blocks.values()].filter(({ isStopped }) => !isStopped);
  const ended = !error && reason !== null;
  return { text, reasoning, refusal: '', calls, cut: [...cut, ...open], opaque, reason, usage, ended, error };
}

function add(seen, { messageStart, contentBlockStart, contentBlockDelta, contentBlockStop, messageStop, metadata }) {
  // A proxy that retries starts over.
  if (messageStart) seen.blocks.clear();
  const call = contentBlockStart?.start?.toolUse;
  if (call && call.type !== 'server_tool_use') {
    const { toolUseId: id, name } = call;
    seen.blocks.set(contentBlockStart.contentBlockIndex, { id, name, text: '', isStopped: false });
  }
  if (contentBlockDelta?.delta) {
    const { text, toolUse, reasoningContent } = contentBlockDelta.delta;
    seen.text += text ?? '';
    seen.reasoning += reasoningContent?.text ?? '';
    const { signature, redactedContent } = reasoningContent ?? {};
    if (signature) seen.opaque.push(signature);
    if (redactedContent) seen.opaque.push(Buffer.from(redactedContent).toString('base64'));
    const block = seen.blocks.get(contentBlockDelta.contentBlockIndex);
    if (block) block.text += toolUse?.input ?? '';
  }
  const block = contentBlockStop && seen.blocks.get(contentBlockStop.contentBlockIndex);
  if (block) block.isStopped = true;
  if (messageStop) seen.reason = messageStop.stopReason;
  if (metadata?.usage) {
    const { inputTokens, cacheReadInputTokens = 0, cacheWriteInputTokens = 0, outputTokens } = metadata.usage;
    seen.usage = [inputTokens + cacheReadInputTokens + cacheWriteInputTokens, outputTokens];
  }
}
