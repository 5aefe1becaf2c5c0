// Fixtures that a provider's own SDK misreads: most are from compatible servers or proxies. Each is still run, and the SDK
// must differ from tokenline in exactly the parts that `differs` lists. Any other entry would hide a bug.

const DIALECTS = {
  'openai-chat': [
    {
      why: 'it does not treat `[DONE]` alone as an end',
      differs: ['broken off'],
      fixtures: ['done-without-finish-reason'],
    },
    { why: 'without a role it throws', differs: ['broken off'], fixtures: ['mistral-repeats-empty-name'] },
    {
      why: 'it joins calls that share an index',
      differs: ['calls', 'cut calls'],
      fixtures: ['gemini-parallel-calls-share-index', 'gemini-parallel-calls-share-index-without-id'],
    },
    {
      why: 'it loses calls without an index',
      differs: ['calls'],
      fixtures: ['mistral-whole-call', 'mistral-whole-parallel-calls-without-index'],
    },
    {
      why: 'parts of content become `[object Object]`',
      differs: ['text', 'reasoning'],
      fixtures: ['mistral-content-parts'],
    },
    {
      why: 'it ignores `native_finish_reason`',
      differs: ['reason'],
      fixtures: ['openrouter-cut-arguments-called-tool-calls'],
    },
  ],
  'openai-responses': [
    {
      why: 'without `output` in `response.created`, as llama.cpp leaves it out, it throws',
      differs: ['broken off', 'calls'],
      fixtures: ['local-tool-calls', 'local-tool-calls-cut'],
    },
    {
      why: 'without `output` in `response.created`, as llama.cpp leaves it out, it throws',
      differs: ['broken off', 'text'],
      fixtures: ['local-truncated'],
    },
    {
      why: 'without `response.output_item.added` it throws',
      differs: ['broken off', 'calls'],
      fixtures: ['call-only-in-item-done', 'custom-tool-call-only-in-item-done'],
    },
    {
      why: 'without `response.output_item.added` it throws',
      differs: ['broken off'],
      fixtures: ['reasoning-only-in-item-done', 'text-only-in-item-done'],
    },
    {
      why: 'without `output_index` it throws',
      differs: ['broken off', 'calls'],
      fixtures: ['output-index-missing'],
    },
    {
      why: 'it does not take the type from the event name',
      differs: ['broken off'],
      fixtures: ['type-missing'],
    },
    {
      why: 'it throws at an event it does not know',
      differs: ['broken off'],
      fixtures: ['cancelled', 'unknown-things'],
    },
    {
      why: 'it takes the last word on a call, not the fragments before it',
      differs: ['calls'],
      fixtures: ['custom-tool-call-not-repeated', 'item-done-with-other-arguments'],
    },
    {
      why: 'it forgets the first of two responses',
      differs: ['text'],
      fixtures: ['second-response-after-the-first'],
    },
  ],
  anthropic: [
    {
      why: 'where all blocks are stopped at the end, as llama.cpp does, it takes each for the last one',
      differs: ['calls'],
      fixtures: ['local-tool-use-cut'],
    },
    {
      why: 'without `content_block_start` it throws',
      differs: ['broken off'],
      fixtures: ['block-start-missing'],
    },
    {
      why: 'it needs both the event name and the type',
      differs: ['broken off'],
      fixtures: ['event-names-missing', 'type-missing'],
    },
    {
      why: 'it throws at a second `message_start`',
      differs: ['broken off'],
      fixtures: ['second-message-after-stop', 'second-message-start'],
    },
    {
      why: 'it throws at a second `message_start`',
      differs: ['broken off', 'calls'],
      fixtures: ['second-message-start-in-tool'],
    },
  ],
  gemini: [
    {
      why: 'it hands on the pieces of streamed arguments as they are',
      differs: ['calls', 'cut calls'],
      fixtures: [
        'streamed-arguments',
        'streamed-arguments-end-in-the-last-part',
        'streamed-arguments-in-one-chunk',
        'streamed-arguments-none',
        'streamed-arguments-of-every-kind',
        'streamed-arguments-then-whole-call',
        'streamed-arguments-without-end',
      ],
    },
    {
      why: 'it does not know the envelope of Code Assist',
      differs: ['broken off', 'calls'],
      fixtures: ['code-assist-envelope'],
    },
    { why: 'it reads `[DONE]` as JSON', differs: ['broken off'], fixtures: ['done-marker-appended'] },
    {
      why: 'it hands on every reason, and the last is not the one that matters',
      differs: ['reason'],
      fixtures: ['stop-after-max-tokens'],
    },
  ],
  ollama: [
    {
      why: 'it hands on arguments that are no object as they are',
      differs: ['calls'],
      fixtures: ['arguments-as-text', 'arguments-that-are-no-object', 'call-with-null-arguments'],
    },
    {
      why: 'it leaves thinking in tags in the text',
      differs: ['text', 'reasoning'],
      fixtures: ['thinking-in-content'],
    },
    { why: 'it treats `error: null` as an error', differs: ['broken off'], fixtures: ['error-null-is-none'] },
    {
      why: 'servers of early 2024 gave no reason, and it has none',
      differs: ['reason'],
      fixtures: ['done-reason-missing'],
    },
  ],
  bedrock: [
    {
      why: 'one corrupt message ends the stream; tokenline drops that message alone',
      differs: ['broken off'],
      fixtures: ['corrupt-message'],
    },
  ],
};

/** The entry of a fixture, if there is one: `{ why, differs }`. */
export function dialect(provider, name) {
  return DIALECTS[provider].find(({ fixtures }) => fixtures.includes(name));
}

/** The names of a provider's entries. */
export function dialectNames(provider) {
  return DIALECTS[provider].flatMap(({ fixtures }) => fixtures);
}
