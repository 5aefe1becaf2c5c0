// The modules of the history, the comparison and the saved prompts that need no browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const { canonical, compare, numberValue } = await load("compare.js");
const { MAX_RUN, MAX_RUNS, MAX_SIZE, entryOf, safeValues, titleOf, toDrop, withoutSecrets } = await load("history.js");
const { differenceOf, textsOf, withoutTexts } = await load("settings.js");
const { shortened, wordDiff } = await load("words.js");
const { fromFile, promptOf, toFile } = await load("prompts.js");
const { State } = await load("state.js");

/** Rows in short: kind, positions from 1. */
const short = ({ rows }) => rows.map(({ kind, before, after }) => `${kind} ${before === null ? "-" : before + 1} ${after === null ? "-" : after + 1}`);

test("numbers are compared by value, without loss", () => {
  for (const [one, other] of [["1", "1.0"], ["100", "1e2"], ["0.10", "1E-1"], ["-0", "0.0"], ["1.50e+3", "1500"]]) {
    assert.equal(numberValue(one), numberValue(other), `${one} ${other}`);
  }
  for (const [one, other] of [["1", "-1"], ["12345678901234567890", "12345678901234567891"], ["0.1", "0.10000000000000000001"], ["1e400", "1e401"]]) {
    assert.notEqual(numberValue(one), numberValue(other), `${one} ${other}`);
  }
});

test("values are equal whatever their order, escapes and white space", () => {
  assert.equal(canonical('{"b": [1.0, {"x": "\\u0041"}], "a": null}'), canonical('{"a":null,"b":[1,{"x":"A"}]}'));
  assert.equal(canonical('{"a":1,"a":2}'), canonical('{"a":2}'));
  assert.equal(canonical('{"__proto__":{"a":1}}'), '{"__proto__":{"a":1e0}}');
  assert.notEqual(canonical('["1"]'), canonical("[1]"));
  assert.notEqual(canonical("[1,[2]]"), canonical("[[1],2]"));
  assert.notEqual(canonical('{"a":{"b":1},"c":2}'), canonical('{"a":{"b":1,"c":2}}'));
  // Strings may look like structure.
  assert.notEqual(canonical('{"a":"x\\",\\"b\\":\\"y"}'), canonical('{"a":"x","b":"y"}'));
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  assert.equal(canonical(deep), deep);
});

test("records are matched by the member that names them", () => {
  const before = ['{"entity": "a", "n": 1}', '{"entity": "b", "n": 2}', '{"entity": "c", "n": 3}'];
  const after = ['{"entity": "a", "n": 1.0}', '{"entity": "d", "n": 4}', '{"n": 5, "entity": "b", "m": [1]}'];
  const result = compare(before, after);
  assert.equal(result.key, "entity");
  assert.deepEqual(result.candidates, ["entity", "n"]);
  assert.deepEqual(short(result), ["same 1 1", "added - 2", "changed 2 3", "lost 3 -"]);
  assert.deepEqual(result.counts, { added: 1, lost: 1, changed: 1, same: 1 });
  // The same value in other words is said, and is no change.
  assert.deepEqual(result.rows[0].changes, [{ name: "n", before: "1", after: "1.0", isSameValue: true }]);
  assert.deepEqual(result.rows[2].changes, [
    { name: "n", before: "2", after: "5", isSameValue: false },
    { name: "m", before: null, after: "[1]", isSameValue: false },
  ]);
});

test("the member can be chosen; one that is not unique is no choice", () => {
  const before = ['{"id": 1, "sku": "x", "type": "t"}', '{"id": 2, "sku": "y", "type": "t"}'];
  const after = ['{"id": 1, "sku": "y", "type": "t"}', '{"id": 2, "sku": "x", "type": "t"}'];
  assert.deepEqual(compare(before, after).candidates, ["id", "sku"]);
  assert.deepEqual(short(compare(before, after)), ["changed 1 1", "changed 2 2"]);
  assert.deepEqual(short(compare(before, after, "sku")), ["changed 2 1", "changed 1 2"]);
  assert.equal(compare(before, after, "type").key, "");
  // 1 and 1.0 are one id.
  assert.deepEqual(short(compare(['{"id": 1}'], ['{"id": 1.0}'], "id")), ["same 1 1"]);
  assert.deepEqual(compare(['{"id": 1}', '{"id": 1.0}'], ['{"id": 1}']).candidates, []);
});

test("without such a member, equal records are matched, then similar ones", () => {
  const before = ['{"s": "a", "p": "is", "o": 1}', '{"s": "a", "p": "is", "o": 2}', '{"s": "b", "p": "has", "o": 2}', '{"s": "q", "p": "z", "o": 9}'];
  const after = ['{"s": "a", "p": "is", "o": 2}', '{"s": "b", "p": "has", "o": 3}', '{"s": "a", "p": "is", "o": 2}', '{"x": 1}'];
  const result = compare(before, after, "");
  assert.deepEqual(short(result), ["same 2 1", "changed 3 2", "lost 4 -", "changed 1 3", "added - 4"]);
  assert.deepEqual(result.counts, { added: 1, lost: 1, changed: 2, same: 1 });
  // As often as it is there: a record that came twice, and now once, is lost once.
  assert.deepEqual(compare(['{"a": 1}', '{"a": 1}', '{"a": 1}'], ['{"a": 1}']).counts, { added: 0, lost: 2, changed: 0, same: 1 });
});

test("lists may be empty, and records no objects", () => {
  assert.deepEqual(short(compare([], [])), []);
  assert.deepEqual(short(compare(['{"a": 1}'], [])), ["lost 1 -"]);
  assert.deepEqual(short(compare([], ['{"a": 1}'])), ["added - 1"]);
  assert.deepEqual(short(compare(["1", '"x"', "[1]"], ["[1.0]", "2"])), ["lost 1 -", "lost 2 -", "same 3 1", "added - 2"]);
});

test("keys that the model chose are names like any other", () => {
  const before = ['{"__proto__": 1, "constructor": "a", "": 0}'];
  const { rows } = compare(before, ['{"__proto__": 2, "constructor": "b", "": 1}'], "");
  assert.deepEqual(rows.map(({ kind }) => kind).sort(), ["added", "lost"]);
  assert.deepEqual(compare(before, ['{"__proto__": 2, "constructor": "a", "": 0}'], "").rows[0].changes.map(({ name }) => name), ["__proto__"]);
  assert.equal({}.polluted, undefined);
});

test("many records are compared in a moment", () => {
  const list = (count, text) => Array.from({ length: count }, (_, n) => text(n));
  const start = performance.now();
  const named = compare(list(50_000, (n) => `{"id": ${n}, "x": "a"}`), list(50_000, (n) => `{"id": ${n}, "x": "${n % 7 ? "a" : "b"}"}`));
  assert.equal(named.counts.changed, Math.ceil(50_000 / 7));
  // The worst: nothing is equal, many values are shared.
  const similar = compare(list(5000, (n) => `{"a": ${n % 3}, "b": ${n % 900}, "c": 1, "d": ${n}}`), list(5000, (n) => `{"a": ${n % 3}, "b": ${n % 901}, "c": 2, "d": ${n + 9000}}`), "");
  assert.equal(similar.isCapped, false);
  const capped = compare(list(20_000, (n) => `{"a": ${n}}`), list(20_000, (n) => `{"a": -${n + 1}}`), "");
  assert.equal(capped.isCapped, true);
  const long = `{"x": "${"y".repeat(5_000_000)}", "k": `;
  assert.equal(compare([`${long}1}`], [`${long}2}`], "").counts.changed, 1);
  const took = performance.now() - start;
  assert.ok(took < 10_000, `${took} ms`);
});

/** The data of a run that ended, with these records. */
function saved(raws, id = "r") {
  const state = new State();
  const events = [["start", JSON.stringify({ run: id, kind: "records", model: "m", provider: "p" })]];
  raws.forEach((raw, at) => events.push(["record", `{"index":${at},"line":1,"start":${at},"end":${at + 1},"value":${raw}}`]));
  events.push(["done", '{"status":"complete"}']);
  events.forEach(([event, data], at) => state.apply({ id: at + 1, event, data }));
  return state.save(state.log.entries);
}

test("a run is kept as it was received, one that is too long without its records", () => {
  const about = { time: 5, values: { prompt: "p" }, title: "p", shortfall: "" };
  const { summary, body } = entryOf(saved(['{"n": 1.00}', '{"n": 12345678901234567890}']), about);
  assert.deepEqual(body.saved.entries.map(({ raw }) => raw), ['{"n": 1.00}', '{"n": 12345678901234567890}']);
  assert.deepEqual([summary.id, summary.time, summary.status, summary.figures.records, summary.hasRecords], ["r", 5, "complete", 2, true]);
  const restored = State.restore(JSON.parse(JSON.stringify(body.saved)));
  assert.equal(restored.rows.items.length, 2);
  assert.equal(restored.isRunning, false);

  // 9 MB fit, as characters of two bytes they do not.
  const text = (char) => `{"t": "${char.repeat(4_500_000)}"}`;
  assert.equal(entryOf(saved([text("x"), text("x")]), about).summary.hasRecords, true);
  const long = entryOf(saved([text("\u00e9"), text("\u00e9")]), about);
  assert.equal(long.summary.hasRecords, false);
  assert.equal(long.body.saved.entries.length, 0);
  assert.equal(long.summary.figures.records, 2);
  assert.ok(long.summary.size < MAX_RUN / 100);
  // The log itself keeps no more than that.
  assert.equal(saved([text("x"), text("x"), text("x")]).entries.length, 0);
  const entered = entryOf(saved(['{"n": 1}']), { ...about, values: { prompt: "p", text: "t".repeat(11_000_000) } });
  assert.deepEqual(entered.body.values, { prompt: "p" });
  assert.ok(entered.summary.size < 10_000);
});

test("the oldest runs go", () => {
  const runs = (count, size) => Array.from({ length: count }, (_, n) => ({ id: `${n}`, size }));
  assert.deepEqual(toDrop(runs(MAX_RUNS, 10)), []);
  assert.deepEqual(toDrop(runs(MAX_RUNS + 2, 10)), ["50", "51"]);
  assert.deepEqual(toDrop(runs(7, 9_000_000)), ["5", "6"]);
  assert.ok(5 * 9_000_000 <= MAX_SIZE);
});

test("keys and passwords are not kept", () => {
  assert.equal(withoutSecrets("https://me:pass@h:8080/v1?key=abc#x"), "https://h:8080/v1");
  assert.equal(withoutSecrets("me@host/v1"), "host/v1");
  assert.equal(withoutSecrets(" http:///TOKEN@h"), "http://h");
  assert.equal(withoutSecrets("0.0.0.0:11434"), "0.0.0.0:11434");
  assert.equal(withoutSecrets("u:p@:x"), "");
  assert.equal(withoutSecrets("http://h/a@b"), "http://h/a@b");
  const values = { "base-url": "http://u:p@h/", "api-key": "sk-1", prompt: "see http://a@b?c" };
  assert.deepEqual(safeValues(values), { "base-url": "http://h", prompt: "see http://a@b?c" });
});

test("a run has the first words of its prompt for a title", () => {
  assert.equal(titleOf({ provider: "recorded", recording: "mixed" }, []), "Recording: mixed");
  assert.equal(titleOf({ provider: "file" }, [], "a.json"), "File: a.json");
  assert.equal(titleOf({ prompt: "  List\n\tthree  rivers. " }, []), "List three rivers.");
  assert.equal(titleOf({ "prompt-id": "x", prompt: "old", text: "A text." }, [{ id: "x", title: "Extract x" }]), "Extract x: A text.");
  assert.equal(titleOf({ prompt: "w".repeat(1_000_000) }, []).length, 120);
  const cut = titleOf({ prompt: "seven words of a prompt " .repeat(20) }, []);
  assert.match(cut, /^(seven words of a prompt )+.*(seven|words|of|a|prompt)\u2026$/);
  assert.ok(cut.length <= 120);
  assert.ok(titleOf({ "prompt-id": "x", text: "t ".repeat(500) }, [{ id: "x", title: "T".repeat(90) }]).length <= 120);
});

test("a text is cut at a word's end", () => {
  assert.equal(shortened("one two three", 13), "one two three");
  assert.equal(shortened("one two three", 12), "one two\u2026");
  assert.equal(shortened("one two three", 8), "one two\u2026");
  assert.equal(shortened("one twoooooooooooo", 10), "one twooo\u2026", "a long word is cut");
  assert.equal(shortened(`${"x".repeat(8)}\u{1f600}yy`, 10), `${"x".repeat(8)}\u2026`, "no half of a character");
});

/** What differs, the before in brackets, the after in braces. */
const marked = (before, after) => wordDiff(before, after).map((part) => (part.isSame ? part.before : `[${part.before}]{${part.after}}`)).join("");

test("changed words are found", () => {
  assert.equal(marked("List three rivers.", "List four rivers."), "List [three]{four} rivers.");
  assert.equal(marked("a b c", "a c"), "a [b ]{}c");
  assert.equal(marked("", "new"), "[]{new}");
  assert.equal(marked("same", "same"), "same");
  assert.equal(marked("", ""), "");
  assert.equal(marked("one two", "uno due"), "[one two]{uno due}", "no lone space between two changes");
  assert.equal(marked("x. Use a table", "x. Write a table. End"), "x. [Use]{Write} a table[]{. End}");
  const words = (count, word) => Array.from({ length: count }, (_, at) => `${word}${at}`).join(" ");
  const start = performance.now();
  assert.equal(wordDiff(words(1990, "a"), words(1990, "b")).length, 1);
  assert.ok(performance.now() - start < 3000);
  assert.equal(wordDiff(words(5000, "a"), words(5000, "b")), null, "too many");
  // What both begin and end with costs nothing.
  assert.equal(marked(`${words(9000, "a")} x ${words(9000, "b")}`, `${words(9000, "a")} y ${words(9000, "b")}`).match(/\[x\]\{y\}/g).length, 1);
});

test("in one line: what a run has other than the one before it", () => {
  const values = { provider: "ollama", model: "m", "prompt-id": "", prompt: "List three rivers.", system: "", check: "none", reask: "0", temperature: "" };
  const line = (changes) => differenceOf(values, { ...values, ...changes });
  assert.equal(line({}), "the same request");
  assert.equal(line({ temperature: "0.7", repair: true }), "repair no \u2192 yes \u00b7 temperature none \u2192 0.7");
  assert.equal(line({ prompt: "List four rivers." }), "prompt \u201cthree\u201d \u2192 \u201cfour\u201d");
  assert.equal(line({ prompt: "List four big rivers of Asia." }), "prompt \u201cthree\u201d \u2192 \u201cfour big\u201d, and 1 more");
  assert.equal(line({ prompt: "List three rivers. Briefly." }), "prompt with \u201cBriefly.\u201d");
  assert.equal(line({ system: "Be brief." }), "system prompt added");
  assert.equal(line({ reask: "2", check: "schema", schema: "{}", "send-schema": "prompt" }), "check against nothing \u2192 a schema \u00b7 ask again never \u2192 twice");
  const checked = { ...values, check: "schema", schema: "{}", "send-schema": "prompt" };
  assert.equal(differenceOf(checked, { ...checked, schema: "[]", "send-schema": "none" }), "schema changed \u00b7 send the schema in the system prompt \u2192 not at all");
  // What does not count is no difference.
  assert.equal(line({ schema: "{}", tools: "[]", delay: "5", "call-format": "auto" }), "the same request");
  assert.equal(differenceOf({ ...values, provider: "recorded" }, { ...values, provider: "recorded", prompt: "x", temperature: "1" }), "the same request");
  const long = "w ".repeat(5000);
  const { summary } = entryOf(saved(['{"n": 1}']), { time: 5, values: { ...values, prompt: `${long}one`, "api-key": "k" }, title: "p", shortfall: "" });
  assert.ok(summary.settings.prompt.length < 2600);
  assert.equal(summary.settings["api-key"], undefined);
  const other = entryOf(saved(['{"n": 1}']), { time: 6, values: { ...values, prompt: `${long}two` }, title: "p", shortfall: "" });
  assert.match(differenceOf(summary.settings, other.summary.settings), /^prompt changed$/);
});

test("a form without its texts", () => {
  const values = { provider: "ollama", model: "m", prompt: "p", text: "t", system: "s", schema: "{}", tools: "[]", set: "{}", "prompt-id": "x", check: "schema", repair: true };
  assert.deepEqual(Object.values(textsOf(withoutTexts(values))).filter(Boolean), []);
  assert.deepEqual(Object.entries(withoutTexts(values)).filter(([, value]) => value !== ""), [["provider", "ollama"], ["model", "m"], ["check", "none"], ["repair", true]]);
});

test("the marks of a run: schema, asked again, repaired", () => {
  const its = saved(['{"n": 1}', '{"n": 2}']);
  its.entries[0].position = { marks: ["repaired: comma"] };
  its.figures.reasks = { requests: 2, input_tokens: 3, output_tokens: 4 };
  const marks = (values) => entryOf(its, { time: 5, values, title: "p", shortfall: "" }).summary.marks;
  assert.deepEqual(marks({ check: "schema" }), ["schema", "asked again 2 times", "1 repaired"]);
  assert.deepEqual(marks({ check: "none" }), ["asked again 2 times", "1 repaired"]);
});

test("a saved prompt is a prompt with its rules, not its server or text", () => {
  const values = { provider: "p", model: "m", "base-url": "u", prompt: "P", system: "S", text: "T", check: "schema", schema: "{}", repair: true, delay: "10" };
  const own = { prompt: "P", system: "S", check: "schema", schema: "{}", repair: true };
  assert.deepEqual(promptOf(values, false), own);
  assert.deepEqual(promptOf(values, true), { ...own, text: "T" });
  const prompts = [{ name: "a", values: own }];
  assert.deepEqual(fromFile(toFile(prompts)), prompts);
  // A file is not trusted.
  for (const [text, message] of [
    ["{", /not JSON/],
    ["[]", /no prompts/],
    ["null", /no prompts/],
    ['{"format": "tokenline-prompts", "prompts": [{"name": "a", "values": {}}, {"name": " ", "values": {}}]}', /^Error: Prompt 2 /],
    ['{"format": "tokenline-prompts", "prompts": [{"name": "a", "values": {"prompt": ["x"]}}]}', /Prompt 1 /],
    [`{"format": "tokenline-prompts", "prompts": [{"name": "${"a".repeat(101)}", "values": {}}]}`, /Prompt 1 /],
    ['{"format": "tokenline-prompts", "prompts": [null]}', /Prompt 1 /],
  ]) {
    assert.throws(() => fromFile(text), message, text);
  }
  const foreign = '{"format": "tokenline-prompts", "prompts": [{"name": "a", "values": {"prompt": "p", "model": "m", "api-key": "k"}}]}';
  assert.deepEqual(fromFile(foreign), [{ name: "a", values: { prompt: "p" } }]);
});
