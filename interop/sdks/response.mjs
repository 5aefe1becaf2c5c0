// Shared code of the SDK modules. Each has `ask`, which collects one response:
//   { text, reasoning, refusal, calls: [{ id, name, arguments }], cut: [{ name, text }],
//     opaque, reason, usage: [input, output] | null, ended, error }
// `calls` are complete, `cut` are calls whose arguments are not JSON; `ended` is true if the provider's own end was seen;
// `error` is what the SDK threw; `opaque` is the data to send back unchanged, if the provider has any. Each also has `send`,
// which sends what `tokenline extract` sends.

/** Parses the arguments of calls, and separates complete calls from truncated ones. */
export function parsedCalls(raw, ended) {
  const calls = [];
  const cut = [];
  for (const { id, name, text } of raw) {
    // Empty arguments are `{}`, but only the end confirms that none follow.
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

/** One line that describes an error and its cause. */
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
