// Holds tokenline's answer against an SDK's.

import { isDeepStrictEqual } from 'node:util';

const DONE = ['stop', 'tool_calls'];

/** Providers with whom a later call may be whole before an earlier one. */
const OUT_OF_TURN = ['openai-responses', 'gemini'];

/** What tokenline may call an end that a provider calls so: many say the same for an answer and for calls. */
const REASONS = {
  'openai-responses': {
    completed: DONE,
    max_output_tokens: ['length'],
    content_filter: ['content_filter'],
    // Only aimock says so, and it says no more.
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

/** The names tokenline may give an SDK's reason: the same, if no other is known. */
function reasons(provider, reason) {
  return REASONS[provider]?.[reason] ?? [reason];
}

/** Compares two answers; each difference is one line or a few, and begins with what differs. */
export function compare(provider, sdk, own) {
  const differences = [];
  const differ = (what, theirs, ours) => {
    const at = parting(theirs, ours);
    differences.push(`${what}:\n      SDK       ${show(theirs, at)}\n      tokenline ${show(ours, at)}`);
  };
  if (own.exit === 2) return [`tokenline: ${own.complaint.trim().split('\n')[0]}`];
  if (own.exit !== 0 && own.exit !== 3) return [`tokenline ended with ${own.exit}: ${own.complaint}`];

  const isWhole = sdk.ended && reasons(provider, sdk.reason).every((reason) => DONE.includes(reason));
  if (sdk.ended && own.exit !== 0) differ('end', sdk.reason, `exit ${own.exit} ${own.complaint.trim()}`);
  if (!sdk.ended && own.exit !== 3) differ('broken off', sdk.error ?? 'no end', `exit ${own.exit}`);

  // The SDK has calls as the model began them, tokenline as they became whole.
  if (OUT_OF_TURN.includes(provider)) own = { ...own, calls: ordered(own.calls, sdk.calls) };
  if (isWhole && !isDeepStrictEqual(calls(sdk), calls(own, sdk)))
    differ('calls', calls(sdk), calls(own, sdk));
  // What was cut may leave tokenline with fewer: it waits for proof that a call is whole. It never has others.
  const strangers = calls(own, sdk).filter(
    (call) => !calls(sdk).some((theirs) => isDeepStrictEqual(theirs, call)),
  );
  if (!isWhole && strangers.length > 0) differ('calls', calls(sdk), strangers);
  if (isWhole && sdk.cut.length > own.rejected.length) differ('cut calls', sdk.cut, own.rejected);

  for (const what of ['text', 'reasoning', 'refusal']) {
    let [theirs, ours] = [sdk[what], own[what]];
    const hasRecords = what === 'text' && (theirs.includes('{') || own.records.length > 0);
    if (hasRecords) [theirs, ours] = withoutRecords(theirs, own);
    // A break may cost either side the last of it, never what came before. So may a record that was cut.
    const isCut = !sdk.ended || (hasRecords && own.rejected.length > 0);
    const agree = isCut ? theirs.startsWith(ours) || ours.startsWith(theirs) : theirs === ours;
    if (!agree) differ(what, theirs, ours);
  }
  if (sdk.ended && sdk.opaque && !isDeepStrictEqual(sdk.opaque.toSorted(), own.opaque.toSorted()))
    differ('opaque', sdk.opaque, own.opaque);
  if (sdk.ended && !reasons(provider, sdk.reason).includes(own.reason))
    differ('reason', sdk.reason, own.reason);
  // All zero is what a mock says that does not count.
  const hasUsage = sdk.ended && sdk.usage?.some(Boolean);
  if (hasUsage && !isDeepStrictEqual(sdk.usage, own.usage)) differ('usage', sdk.usage, own.usage);
  return differences;
}

/** Calls in the order in which their likes are among others, and the rest behind them. */
function ordered(some, others) {
  const place = (call) => {
    const found = others.findIndex(
      (other) =>
        (!other.id || other.id === call.id) &&
        other.name === call.name &&
        isDeepStrictEqual(other.arguments, call.arguments),
    );
    return found < 0 ? others.length : found;
  };
  return some.toSorted((one, other) => place(one) - place(other));
}

/** Calls as both sides can have them; ids count only where the SDK has one. */
function calls(answer, other = answer) {
  return answer.calls.map(({ id, name, arguments: values }, index) => ({
    ...(other.calls[index]?.id && { id }),
    name,
    arguments: values,
  }));
}

/**
 * What is text on both sides once tokenline's records are taken out of the SDK's. White space, commas and fences do not
 * count: which of them belong to a record is tokenline's own affair. Nor does how a number is written.
 */
function withoutRecords(text, own) {
  let rest = squeeze(text);
  for (const record of own.records) {
    const piece = squeeze(JSON.stringify(record));
    // A record that the text does not have stays to be seen.
    rest = rest.includes(piece) ? rest.replace(piece, () => '') : `${rest} no text has ${piece}`;
  }
  return [rest, squeeze(own.text)];
}

function squeeze(text) {
  const numbers = text.replace(/-?\d+(\.\d+)?([eE][+-]?\d+)?/g, (number) => String(Number(number)));
  return numbers.replace(/```\w*|[\s,]+/g, '');
}

/** A value as JSON; of a long one only what is around `at`. */
export function show(value, at = 0) {
  const text = JSON.stringify(value) ?? 'nothing';
  if (text.length <= 300) return text;
  const from = Math.max(0, at - 100);
  return `(${text.length} long) ...${text.slice(from, from + 300)}...`;
}

/** Where two values begin to differ, as JSON. */
function parting(one, other) {
  const [a, b] = [JSON.stringify(one) ?? '', JSON.stringify(other) ?? ''];
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}
