// The cases of crates/tokenline-core/fixtures/records, as ../../crates/tokenline-core/tests/common/cases.rs reads them;
// ways to cut an input; and what several tests share.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const EXHAUSTIVE = process.env.TOKENLINE_EXHAUSTIVE === "1";

/** A path in the repository. */
export const path = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** The Rust program, if there is one to compare with. */
export function program() {
  const given = process.env.TOKENLINE_PROGRAM;
  if (!given) return undefined;
  if (!existsSync(given)) throw new Error(`TOKENLINE_PROGRAM: there is no ${given}`);
  return given;
}

const encoder = new TextEncoder();

/** The bytes of an input's lines. */
function bytesOf(lines) {
  const text = lines
    .map((line) => `${line}\n`)
    .join("")
    .replace(/⟨end⟩\n$/u, "")
    .replaceAll("␍", "\r");
  const [first, ...rest] = text.split("⟨");
  const parts = [encoder.encode(first)];
  for (const part of rest) {
    const [, byte, after] = /^([0-9A-Fa-f]{2})⟩(.*)$/su.exec(part) ?? [];
    if (byte === undefined) throw new Error(`⟨${part}: no byte`);
    parts.push(Uint8Array.of(parseInt(byte, 16)), encoder.encode(after));
  }
  return new Uint8Array(Buffer.concat(parts));
}

/** The options in JavaScript; `whole` is what `Live` does. */
function optionsOf(settings) {
  const options = {};
  let isWhole = false;
  for (const setting of settings.split(",").map((setting) => setting.trim()).filter(Boolean)) {
    const [name, value] = setting.split("=");
    switch (name) {
      case "strict":
        options.mode = "strict";
        break;
      case "whole":
        isWhole = true;
        break;
      case "on_balance":
        options.release = "on_balance";
        break;
      case "items":
        options.items = value;
        break;
      case "line_bytes":
        options.lineBytes = Number(value);
        break;
      case "depth":
        options.depth = Number(value);
        break;
      default:
        throw new Error(`${setting}: no such option`);
    }
  }
  return { options, isWhole };
}

function casesOf(folder, file) {
  const lines = readFileSync(`${folder}/${file}`, "utf8").replace(/\n$/, "").split("\n");
  const cases = [];
  let [name, json, input] = ["", {}, undefined];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at++];
    if (line.startsWith("## ")) {
      if (input) throw new Error(`${name}: no events`);
      name = `${file}: ${line.slice(3)}`;
    }
    const [fence] = /^`*/.exec(line);
    if (fence.length < 3) continue;
    const end = lines.indexOf(fence, at);
    if (end < 0) throw new Error(`${name}: a block without an end`);
    const block = lines.slice(at, end);
    at = end + 1;
    const [, kind, rest] = /^(\S*) ?(.*)$/.exec(line.slice(fence.length));
    if (kind === "text") input = { bytes: bytesOf(block), ...optionsOf(rest) };
    else if (kind === "json") json[rest] = JSON.parse(block.join("\n"));
    else if (kind === "events" && rest === "") {
      if (!input) throw new Error(`${name}: no input`);
      cases.push({ name, ...input, json, expected: block });
      [json, input] = [{}, undefined];
    } else throw new Error(`${name}: a block of an unknown kind: ${line}`);
  }
  if (input) throw new Error(`${name}: no events`);
  return cases;
}

/** The cases of a verdict. */
export function cases(verdict) {
  const folder = path(`crates/tokenline-core/fixtures/records/${verdict}`);
  return readdirSync(folder)
    .sort()
    .flatMap((file) => casesOf(folder, file));
}

/** The text of bytes that are UTF-8. */
export function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A string, or bytes, in pieces of this size. */
export function pieces(input, size) {
  const cut = typeof input === "string" ? "slice" : "subarray";
  const all = [];
  for (let start = 0; start < input.length; start += size) all.push(input[cut](start, start + size));
  return all;
}

/** All ways to cut an input in two. */
export function* halves(input) {
  const cut = typeof input === "string" ? "slice" : "subarray";
  for (let at = 0; at <= input.length; at++) yield [input[cut](0, at), input[cut](at)];
}

/** A generator of random numbers: SplitMix32. */
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  };
  const below = (limit) => next() % limit;
  return { next, below, pick: (all) => all[below(all.length)] };
}

/** An input in pieces of random sizes, some empty. */
export function randomPieces(input, { below, pick }) {
  const cut = typeof input === "string" ? "slice" : "subarray";
  const most = pick([2, 4, 16, 64, input.length + 1]);
  const all = [];
  for (let start = 0; start < input.length; ) {
    const end = Math.min(input.length, start + below(most + 1));
    all.push(input[cut](start, end));
    start = end;
  }
  return all;
}
