// Compares tokenline's response with an SDK's.

import { isDeepStrictEqual } from 'node:util';

const DONE = ['stop', 'tool_calls'];

/** Providers whose later calls may complete before earlier ones. */
const OUT_OF_ORDER = ['openai-responses', 'gemini'];

/** The finish reasons of tokenline for a provider's: many providers have one reason for both text and calls. */
const REASONS = {
  'openai-responses': {
    completed: DONE,
    max_output_tokens: ['length'],
    content_filter: ['content_filter'],
    // Only aimock sends this.
    'completed incomplete': ['incomplete'],
  },
  anthropic: {
    end_turn: ['stop'],
    stop_sequence: ['stop'],
    tool_use: ['tool_calls'],
    max_tokens: ['length'],
    model_context_window_exceeded: ['length'],
    refusal: ['content_filter'],
  },
  gemini: {
    STOP: DONE,
    FUNCTION_CALL: DONE,
    MAX_TOKENS: ['length'],
    SAFETY: ['content_filter'],
    RECITATION: ['content_filter'],
    PROHIBITED_CONTENT: ['content_filter'],
    MALFORMED_FUNCTION_CALL: ['malformed_call'],
    UNEXPECTED_TOOL_CALL: ['malformed_call'],
  },
  bedrock: {
    end_turn: ['stop'],
    stop_sequence: ['stop'],
    tool_use: ['tool_calls'],
    max_tokens: ['length'],
    model_context_window_exceeded: ['length'],
    content_filtered: ['content_filter'],
    guardrail_intervened: ['content_filter'],
    malformed_tool_use: ['malformed_call'],
  },
  ollama: { stop: DONE, length: ['length'] },
};

/** The expected finish reasons of tokenline for an SDK's; by default the same. */
function reasons(provider, reason) {
  return REASONS[provider]?.[reason] ?? [reason];
}

/** Compares two responses. Each difference is a few lines that start with the name of the differing part. */
export function compare(provider, sdk, own) {
  const differences = [];
  const differ = (name, theirs, ours) => {
    const at = firstDifference(theirs, ours);
    differences.push(`${name}:\n      SDK       ${show(theirs, at)}\n      tokenline ${show(ours, at)}`);
  };
  if (own.exit === 2) return [`tokenline: ${own.complaint.trim().split('\n')[0]}`];
  if (own.exit !== 0 && own.exit !== 3) return [`tokenline ended with ${own.exit}: ${own.complaint}`];

  const isWhole = sdk.ended && reasons(provider, sdk.reason).every((reason) => DONE.includes(reason));
  if (sdk.ended && own.exit !== 0) differ('end', sdk.reason, `exit ${own.exit} ${own.complaint.trim()}`);
  if (!sdk.ended && own.exit !== 3) differ('broken off', sdk.error ?? 'no end', `exit ${own.exit}`);

  // The SDK lists calls as they began, tokenline as they completed.
  if (OUT_OF_ORDER.includes(provider)) own = { ...own, calls: ordered(own.calls, sdk.calls) };
  if (isWhole && !isDeepStrictEqual(calls(sdk), calls(own, sdk)))
    differ('calls', calls(sdk), calls(own, sdk));
  // After a cut, tokenline may have fewer calls, as it waits for confirmation that a call is complete; but no others.
  const extra = calls(own, sdk).filter(
    (call) => !calls(sdk).some((theirs) => isDeepStrictEqual(theirs, call)),
  );
  if (!isWhole && extra.length > 0) differ('calls', calls(sdk), extra);
  if (isWhole && sdk.cut.length > own.rejected.length) differ('cut calls', sdk.cut, own.rejected);

  for (const name of ['text', 'reasoning', 'refusal']) {
    let [theirs, ours] = [sdk[name], own[name]];
    const hasRecords = name === 'text' && (theirs.includes('{') || own.records.length > 0);
    if (hasRecords) [theirs, ours] = withoutRecords(theirs, own);
    // After a break or a truncated record, either side may miss the end of the text, but nothing before it.
    const isCut = !sdk.ended || (hasRecords && own.rejected.length > 0);
    const agree = isCut ? theirs.startsWith(ours) || ours.startsWith(theirs) : theirs === ours;
    if (!agree) differ(name, theirs, ours);
  }
  if (sdk.ended && sdk.opaque && !isDeepStrictEqual(sdk.opaque.toSorted(), own.opaque.toSorted()))
    differ('opaque', sdk.opaque, own.opaque);
  if (sdk.ended && !reasons(provider, sdk.reason).includes(own.reason))
    differ('reason', sdk.reason, own.reason);
  // A mock that does not count tokens reports zeros.
  const hasUsage = sdk.ended && sdk.usage?.some(Boolean);
  if (hasUsage && !isDeepStrictEqual(sdk.usage, own.usage)) differ('usage', sdk.usage, own.usage);
  return differences;
}

/** Calls in the order of the equal calls among `others`, then the rest. */
function ordered(some, others) {
  const position = (call) => {
    const index = others.findIndex(
      (other) =>
        (!other.id || other.id === call.id) &&
        other.name === call.name &&
        isDeepStrictEqual(other.arguments, call.arguments),
    );
    return index < 0 ? others.length : index;
  };
  return some.toSorted((one, other) => position(one) - position(other));
}

/** Calls in a comparable form; ids count only if the SDK has one. */
function calls(response, other = response) {
  return response.calls.map(({ id, name, arguments: values }, index) => ({
    ...(other.calls[index]?.id && { id }),
    name,
    arguments: values,
  }));
}

/**
 * The texts of both sides, without tokenline's records in the SDK's. Ignores whitespace, commas and fences, of which
 * tokenline counts some to a record, and the spelling of numbers.
 */
function withoutRecords(text, own) {
  let rest = normalized(text);
  for (const record of own.records) {
    const piece = normalized(JSON.stringify(record));
    // A record that is not in the text stays visible.
    rest = rest.includes(piece) ? rest.replace(piece, () => '') : `${rest} not in the text: ${piece}`;
  }
  return [rest, normalized(own.text)];
}

function normalized(text) {
  const numbers = text.replace(/-?\d+(\.\d+)?([eE][+-]?\d+)?/g, (number) => String(Number(number)));
  return numbers.replace(/```\w*|[\s,]+/g, '');
}

/** A value as JSON; for a long one, only the part around `at`. */
export function show(value, at = 0) {
  const text = JSON.stringify(value) ?? 'nothing';
  if (text.length <= 300) return text;
  const from = Math.max(0, at - 100);
  return `(${text.length} long) ...${text.slice(from, from + 300)}...`;
}

/** The first offset at which two values differ, as JSON. */
function firstDifference(one, other) {
  const [a, b] = [JSON.stringify(one) ?? '', JSON.stringify(other) ?? ''];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
