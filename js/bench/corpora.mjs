// The inputs of the benches. All are made, so that every run has the same.

/** A JSON object of about this many characters, as a model writes it for an extraction. */
export function document(length) {
  const items = [];
  let written = 0;
  for (let id = 0; written < length; id++) {
    const item = {
      id,
      title: `Item number ${id}`,
      description: 'A "long" description of the item, with some text as a model would write it, and a bit more.',
      price: 12.5 + id,
      tags: ["red", "green", "blue"],
      inStock: id % 2 === 0,
      nested: { a: null, b: [1, 2, 3] },
    };
    written += JSON.stringify(item).length + 1;
    items.push(item);
  }
  return JSON.stringify({ items, total: items.length });
}

/** JSON Lines of about this many bytes. */
export function lines(length) {
  const all = [];
  let written = 0;
  for (let id = 0; written < length; id++) {
    const line = JSON.stringify({
      id,
      name: `Entity ${id}`,
      kind: ["gene", "protein", "cell"][id % 3],
      score: id / 7,
      tags: ["a", "b"],
      evidence: { pmid: 1_000_000 + id, text: "The quick brown fox jumps over the lazy dog." },
      ok: id % 2 === 0,
    });
    all.push(line);
    written += line.length + 1;
  }
  return new TextEncoder().encode(`${all.join("\n")}\n`);
}

/** Bytes in pieces. */
export function pieces(of, length) {
  const all = [];
  for (let at = 0; at < of.length; at += length) all.push(of.slice(at, at + length));
  return all;
}

/** An async iterable of these. */
export async function* stream(of) {
  yield* of;
}

export function median(times) {
  return times.sort((one, other) => one - other)[times.length >> 1];
}

/** The median time of each, in milliseconds, all interleaved. */
export async function timed(rounds, subjects) {
  const times = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (let round = 0; round < rounds + 1; round++) {
    for (const [name, subject] of Object.entries(subjects)) {
      const start = performance.now();
      await subject();
      // The first round warms up.
      if (round > 0) times[name].push(performance.now() - start);
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, its]) => [name, median(its)]));
}
