// The cases of the Rust crates, however they are cut.
import assert from "node:assert/strict";
import test from "node:test";
import { JsonlParser, Live } from "../dist/live.js";
import * as schemas from "../dist/schema.js";
// The faster module, which servers get.
import * as fast from "tokenline/schema";
import { EXHAUSTIVE, cases, halves, pieces, random, randomPieces, textOf } from "./fixtures.mjs";

const SIZES = [1, 2, 3, 5, 7, 16];
/** Longer inputs are not cut at every place, as in Rust. */
const LONGEST = 1500;
const RANDOM = EXHAUSTIVE ? 64 : 4;

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** An event as its line in a block of events. */
function line(event, bytes) {
  const place = `${event.line}:${event.column}`;
  const span = `${event.start}..${event.end}`;
  if (event.type === "record" || event.type === "tool_call") {
    const raw = decoder.decode(bytes.subarray(event.start, event.end));
    if (event.type === "record") assert.deepEqual(event.value, JSON.parse(raw));
    else assert.deepEqual(event.parameters, JSON.parse(raw).parameters ?? {});
    const shown = raw.replaceAll("\r", "␍").replaceAll("\n", "⏎");
    return `record ${place} ${span} ${event.completion} [${(event.recovered ?? []).join(",")}] ${shown}`;
  }
  const path = event.instancePath ? ` (at ${event.instancePath})` : "";
  const kind = { reject: "rejected", rejected_call: "rejected", note: "note" }[event.type];
  assert.ok(kind, `an event that the fixtures do not know: ${event.type}`);
  return `${kind} ${place} ${event.code} ${span} ${event.message}${path}`;
}

/** Whether an event's line is the expected one, in which `?` is anything. */
function fits(expected, seen) {
  if (expected === seen) return true;
  const fields = expected.startsWith("record ") ? 6 : 5;
  const split = (line) => {
    const parts = line.split(" ");
    return [...parts.slice(0, fields - 1), parts.slice(fields - 1).join(" ")];
  };
  const [wanted, had] = [split(expected), split(seen)];
  const isPlace = (wanted, had) =>
    wanted.split(":").every((part, at) => part === "?" || part === had.split(":")[at]);
  return (
    wanted.length === had.length &&
    wanted.every((part, at) => part === "?" || part === had[at] || (at === 1 && isPlace(part, had[at])))
  );
}

function compare(seen, expected, name) {
  if (seen.length !== expected.length || !expected.every((line, at) => fits(line, seen[at]))) {
    assert.deepEqual(seen, expected, name);
  }
}

/** The inputs of a case: bytes, and a string if they are UTF-8. */
function inputs({ bytes }) {
  const text = textOf(bytes);
  return text === undefined ? [bytes] : [bytes, text];
}

function* cuts(input, seed) {
  yield [input];
  for (const size of SIZES) yield pieces(input, size);
  yield pieces(input, 1).flatMap((piece) => [piece.slice(1), piece]);
  if (input.length <= LONGEST) yield* halves(input);
  const numbers = random(seed);
  for (let count = 0; count < RANDOM; count++) yield randomPieces(input, numbers);
}

/** Checks a case with all cuts. `read` takes chunks and returns what was seen; `lines` what is to be expected of it. */
function check(found, { read, lines }) {
  let count = 0;
  for (const input of inputs(found)) {
    const whole = read([input]);
    lines(whole);
    const wanted = JSON.stringify(whole);
    for (const chunks of cuts(input, count)) {
      const seen = read(chunks);
      if (JSON.stringify(seen) !== wanted) assert.deepEqual(seen, whole, `${found.name}: ${JSON.stringify(chunks)}`);
      count++;
    }
  }
  return count;
}

/** Reads with a parser that was used before, so that each case also tests `reset`. */
function reused(parser) {
  parser.push('{"left":"over');
  return (chunks) => {
    parser.reset();
    const seen = chunks.flatMap((chunk) => parser.push(chunk));
    seen.push(...parser.finish());
    return seen;
  };
}

/** Reads with a parser of its own. */
const fresh = (make) => (chunks) => {
  const parser = make();
  const seen = chunks.flatMap((chunk) => parser.push(chunk));
  seen.push(...parser.finish());
  assert.deepEqual(parser.push("{}\n"), [], "a chunk after the end is ignored");
  assert.deepEqual(parser.finish(), []);
  parser.free();
  return seen;
};

/** How many cases a verdict has at least: a test that reads none would pass. */
const LEAST = { valid: 30, recovered: 200, malformed: 150, truncated: 50, invalid: 18, whole: 65 };

function counted(t, verdict, all, ran, cuts) {
  assert.ok(ran >= LEAST[verdict], `${verdict}: only ${ran} cases`);
  t.diagnostic(`${verdict}: ${ran} of ${all} cases in ${cuts} cuts`);
}

for (const verdict of ["valid", "recovered", "malformed", "truncated"]) {
  test(`the cases of \`${verdict}\``, (t) => {
    const all = cases(verdict);
    let cuts = 0;
    for (const found of all) {
      const lines = (seen) => compare(seen.map((event) => line(event, found.bytes)), found.expected, found.name);
      cuts += check(found, { read: reused(new JsonlParser(found.options)), lines });
      lines(fresh(() => new JsonlParser(found.options))([found.bytes]));
      // The larger builds judge what this one only reads.
      for (const api of [schemas, fast]) lines(fresh(() => new api.JsonlParser(found.options))(pieces(found.bytes, 5)));
    }
    counted(t, verdict, all.length, all.length, cuts);
  });
}

test("the cases of `valid` in the strict mode", () => {
  for (const { bytes, options, expected, name } of cases("valid")) {
    const seen = fresh(() => new JsonlParser({ ...options, mode: "strict" }))(pieces(bytes, 3));
    compare(seen.map((event) => line(event, bytes)), expected, name);
  }
});

for (const [entry, { JsonlParser, ToolCallParser }] of Object.entries({ schemas, fast })) test(`the cases of \`invalid\`, with their schemas and tools: ${entry}`, (t) => {
  const all = cases("invalid");
  let cuts = 0;
  const ran = { schema: 0, tools: 0 };
  for (const found of all) {
    const { schema, tools } = found.json;
    assert.ok((schema === undefined) !== (tools === undefined), `${found.name}: a schema, or tools`);
    const lines = (seen) => compare(seen.map((event) => line(event, found.bytes)), found.expected, found.name);
    let read;
    try {
      read =
        schema === undefined
          ? fresh(() => new ToolCallParser({ ...found.options, tools }))
          : reused(new JsonlParser({ ...found.options, schema }));
    } catch (error) {
      if (error.code !== "unsupported_schema") throw error;
      t.diagnostic(`skipped: ${found.name}: ${error.message}`);
      continue;
    }
    cuts += check(found, { read, lines });
    ran[schema === undefined ? "tools" : "schema"]++;
  }
  assert.ok(ran.schema > 10 && ran.tools > 5, JSON.stringify(ran));
  counted(t, "invalid", all.length, ran.schema + ran.tools, cuts);
});

// Records have no option `whole`, but the value of `Live` is read so. It shows the first record; others are counted.
// With `items` the elements are the records, and nothing is whole.
test("the cases of `whole`, as values that grow", (t) => {
  const all = cases("whole");
  let [cuts, ran] = [0, 0];
  for (const found of all) {
    if (!found.isWhole || found.options.items !== undefined) {
      t.diagnostic(`skipped: ${found.name}: ${found.isWhole ? "`items` of a whole value" : "not whole"}`);
      continue;
    }
    const read = (chunks) => {
      const live = new Live(found.options);
      for (const chunk of chunks) live.push(chunk);
      live.finish();
      const { record, report, state } = live;
      const { value, ...place } = record ?? {};
      if (record) assert.deepEqual(live.value, value, found.name);
      assert.equal(state === "complete", record !== undefined, found.name);
      const seen = { place, value, state, records: report.records, diagnostics: report.diagnostics };
      live.free();
      return seen;
    };
    const lines = ({ place, value, state, records, diagnostics }) => {
      const expected = found.expected.filter((line) => line.startsWith("record "));
      assert.equal(records, expected.length, found.name);
      // What is inside a value that was cut off is counted, but not shown.
      const isCutOff = state === "rejected" && diagnostics.some(({ code }) => code === "truncated");
      assert.equal(place.type, records > 0 && !isCutOff ? "record" : undefined, found.name);
      const first = place.type ? [line({ ...place, value }, found.bytes)] : [];
      compare(first, isCutOff ? [] : expected.slice(0, 1), found.name);
      const others = found.expected.filter((line) => !line.startsWith("record "));
      compare(diagnostics.map((event) => line(event, found.bytes)), others, found.name);
    };
    cuts += check(found, { read, lines });
    ran++;
  }
  counted(t, "whole", all.length, ran, cuts);
});
