// What the SDK modules share. Each can `ask`, which gathers one answer:
//   { text, reasoning, refusal, calls: [{ id, name, arguments }], cut: [{ name, text }],
//     opaque, reason, usage: [input, output] | null, ended, error }
// `calls` are those the SDK has whole, `cut` those whose arguments are not JSON (yet); `ended` says that the provider's
// own end was seen, `error` is what the SDK threw, `opaque`, where a provider has it, is what goes back as it came. And each can `send` what `tokenline extract` sends.

/** Sorts calls with arguments as text into whole ones and cut ones. */
export function parsedCalls(raw, ended) {
  const calls = [];
  const cut = [];
  for (const { id, name, text } of raw) {
    // No arguments at all are `{}`, but only the end proves that none were to follow.
    if (text === '' && ended) calls.push({ id, name, arguments: {} });
    else {
      try {
        calls.push({ id, name, arguments: JSON.parse(text) });
      } catch {
        cut.push({ name, text });
      }
    }
  }
  return { calls, cut };
}

/** One line that says what was thrown, with what is beneath it. */
export function failure(thrown) {
  const cause = thrown?.cause ? `: ${thrown.cause.code ?? thrown.cause.message}` : '';
  return `${thrown?.name ?? 'Error'}: ${thrown?.message ?? thrown}${cause}`
    .replace(/\s+/g, ' ')
    .slice(0, 200);
}

/** Reads a stream to its end. */
export async function drain(stream) {
  for await (const _ of stream);
}
