// Compares the package with its peers, in one run:
//   node bench/compare.mjs [ROUNDS]     medians of 7 rounds by default
import { parsePartialJson } from "ai";
import { parse as jsonriver } from "jsonriver";
import { parse as partialJson } from "partial-json";

import { Live, live, records, validate } from "../dist/live.js";
import { validate as validateSmall } from "../dist/schema.js";
import { validate as validateSchema } from "tokenline/schema";
import { document, lines, pieces, stream, timed } from "./corpora.mjs";

const rounds = Number(process.argv[2] ?? 7);
const ms = (time) => (time >= 100 ? time.toFixed(0) : time.toFixed(1)).padStart(9);
const table = (title, times, unit = 1) => {
  console.log(`\n${title}`);
  for (const [name, time] of Object.entries(times)) console.log(`  ${ms(time * unit)} ms  ${name}`);
};
const last = async (values) => {
  let last;
  for await (const value of values) last = value;
  return last;
};

for (const length of [64 * 1024, 1024 * 1024]) {
  const text = document(length);
  const deltas = pieces(text, 4);
  const times = await timed(rounds, {
    "jsonriver (one object that changes)": () => last(jsonriver(stream(deltas))),
    "tokenline live (snapshots)": () => last(live(stream(deltas))),
    "tokenline live, inPlace (one object that changes)": () => last(live(stream(deltas), { inPlace: true })),
    "tokenline Live, inPlace (no async iteration)": () => {
      const parser = new Live({ inPlace: true });
      for (const delta of deltas) {
        parser.push(delta);
        parser.value;
      }
      parser.finish();
      parser.free();
    },
  });
  // These read the whole text at each delta, so 1 of 100 prefixes stands for all.
  if (length === 64 * 1024) {
    const prefixes = deltas.flatMap((_, index) => (index % 100 === 50 ? [text.slice(0, 4 * (index + 1))] : []));
    const sampled = await timed(1, {
      "partial-json": () => prefixes.forEach((prefix) => partialJson(prefix)),
      "ai parsePartialJson": async () => {
        for (const prefix of prefixes) await parsePartialJson(prefix);
      },
    });
    for (const [name, time] of Object.entries(sampled)) times[`${name} (1 of 100 deltas, times 100)`] = time * 100;
    const slowest = Math.max(times["tokenline live (snapshots)"], 0);
    for (const name of Object.keys(sampled)) {
      console.log(`${name}: ${((sampled[name] * 100) / slowest).toFixed(0)} times the time of live`);
    }
  }
  table(`A JSON object of ${length / 1024} KiB in deltas of 4 characters, its value after each`, times);
}

const bytes = lines(20_000_000);
const chunks = pieces(bytes, 64 * 1024);
const schema = {
  type: "object",
  properties: { id: { type: "integer" }, name: { type: "string" }, kind: { enum: ["gene", "protein", "cell"] }, score: { type: "number" } },
  required: ["id", "name", "kind"],
};
async function splitAndParse() {
  const decoder = new TextDecoder();
  let rest = "";
  let count = 0;
  for await (const chunk of stream(chunks)) {
    const all = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = all.pop();
    for (const line of all) {
      JSON.parse(line);
      count++;
    }
  }
  return count;
}
const times = await timed(rounds, {
  "TextDecoder, split, JSON.parse": splitAndParse,
  "tokenline validate (counted)": () => validate(stream(chunks)),
  "tokenline/schema validate, with a JSON Schema": () => validateSchema(stream(chunks), { schema }),
  "the same with the module for pages": () => validateSmall(stream(chunks), { schema }),
  "tokenline records (each an object)": async () => {
    let count = 0;
    for await (const _ of records(stream(chunks))) count++;
    return count;
  },
});
table("20 MB of JSON Lines in chunks of 64 KiB", times);
const base = times["TextDecoder, split, JSON.parse"];
for (const [name, time] of Object.entries(times)) console.log(`  ${(base / time).toFixed(2)}  ${name}`);
