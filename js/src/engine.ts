import { TokenlineError, invalidOption } from "./errors.js";
import { Growing } from "./growing.js";

/** The functions of the WebAssembly module; `../wasm/src/lib.rs` describes them. */
interface Exports {
  readonly memory: WebAssembly.Memory;
  features(): number;
  scratch(length: number): number;
  scratch_len(): number;
  parser(length: number): number;
  schema?(length: number): number;
  tools?(length: number): number;
  free_schema?(compiled: number): void;
  input(parser: number, length: number): number;
  push(parser: number, length: number): number;
  finish(parser: number, hasFailed: number): number;
  output(parser: number): number;
  status(parser: number): number;
  reset(parser: number): void;
  free(parser: number): void;
}

/** An event as the module writes it. */
export interface RawEvent {
  type: string;
  [member: string]: unknown;
}

/** What takes the output of a parser, in order. */
export interface Sink {
  event(event: RawEvent): void;
  /** The values of records alone. */
  values(values: unknown[]): void;
  /** Records, or calls, that are only counted. */
  count(records: number): void;
  /** The open record begins: the value that the following steps build. */
  begin(): Growing;
  /** The open record is none. */
  gone(): void;
}

/** All that was pushed goes on with the open string. */
const APPENDED = -1;

/** The tags of the frames; `../wasm/src/output.rs` describes them. */
const EVENTS = 1;
const VALUES = 2;
const COUNT = 3;
const BEGIN = 4;
const GONE = 5;
const OBJECT = 6;
const ARRAY = 7;
const STRING = 8;
const APPEND = 9;
const NUMBER = 10;
const NULL = 11;
const TRUE = 12;
const FALSE = 13;

/** The bytes that are pushed at once. */
const PIECE = 64 * 1024;
/** A shorter string is written and read byte by byte: a call of the encoder takes longer. */
const SHORT = 24;

const encoder = new TextEncoder();
// A byte order mark is part of a text.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A compiled module with its memory. */
export class Engine {
  readonly exports: Exports;
  readonly hasCalls: boolean;
  readonly hasProviders: boolean;
  readonly hasSchemas: boolean;
  view: Uint8Array;
  readonly #compiled = new WeakMap<object, number>();
  readonly #parsers: FinalizationRegistry<number>;
  readonly #schemas: FinalizationRegistry<number>;

  constructor(module: WebAssembly.Module) {
    this.exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.view = new Uint8Array(this.exports.memory.buffer);
    const features = this.exports.features();
    this.hasCalls = (features & 1) !== 0;
    this.hasProviders = (features & 2) !== 0;
    this.hasSchemas = (features & 4) !== 0;
    this.#parsers = new FinalizationRegistry((parser) => this.exports.free(parser));
    this.#schemas = new FinalizationRegistry((compiled) => this.exports.free_schema?.(compiled));
  }

  /** The memory, which moves as it grows. */
  memory(): Uint8Array {
    if (this.view.length === 0) this.view = new Uint8Array(this.exports.memory.buffer);
    return this.view;
  }

  /** Makes a parser. */
  machine(settings: Record<string, unknown>): Machine {
    const parser = this.#request(JSON.stringify(settings), this.exports.parser);
    const machine = new Machine(this, parser);
    this.#parsers.register(machine, parser, machine);
    return machine;
  }

  /** Compiles a JSON Schema or tools, once for each object. */
  compile(kind: "schema" | "tools", of: object, text: () => string): number {
    let compiled = this.#compiled.get(of);
    if (compiled === undefined) {
      compiled = this.#request(text(), this.exports[kind]!, kind);
      this.#compiled.set(of, compiled);
      this.#schemas.register(of, compiled);
    }
    return compiled;
  }

  forget(machine: Machine, parser: number): void {
    this.#parsers.unregister(machine);
    this.exports.free(parser);
  }

  #request(text: string, answer: (length: number) => number, kind?: "schema" | "tools"): number {
    const bytes = encoder.encode(text);
    const at = this.exports.scratch(bytes.length);
    this.memory().set(bytes, at);
    const made = answer(bytes.length);
    if (made !== 0) return made;
    const length = this.exports.scratch_len();
    const message = this.text(this.exports.scratch(length), length);
    if (!kind) throw invalidOption(message);
    // In Rust, it could be supported.
    const reason = message.replaceAll("needs the feature `jsonschema`", "is not supported");
    throw new TokenlineError("unsupported_schema", `${kind}: ${reason}`);
  }

  /** The text of these bytes. */
  text(at: number, length: number): string {
    const bytes = this.memory();
    if (length <= SHORT) {
      let text = "";
      let index = 0;
      for (; index < length; index++) {
        const byte = bytes[at + index]!;
        if (byte >= 0x80) break;
        text += String.fromCharCode(byte);
      }
      if (index === length) return text;
    }
    return decoder.decode(bytes.subarray(at, at + length));
  }
}

/** Whether all characters of a text have both halves. */
function isWellFormed(text: string): boolean {
  const { isWellFormed } = text as { isWellFormed?: () => boolean };
  return isWellFormed ? isWellFormed.call(text) : !/\p{Surrogate}/u.test(text);
}

/** The bytes of a text, or of half a character, which are not UTF-8: its record is rejected. */
function encoded(text: string): Uint8Array {
  const unit = text.charCodeAt(0);
  const isHalf = text.length === 1 && unit >= 0xd800 && unit < 0xe000;
  return isHalf ? Uint8Array.of(0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)) : encoder.encode(text);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** A parser in the module. */
export class Machine {
  readonly #engine: Engine;
  readonly #parser: number;
  /** Where its input is, and how long it may be. */
  #input = 0;
  #room = 0;
  /** The first half of a character whose second half is in the next string. */
  #half = "";
  /** The open record. */
  #growing: Growing | undefined;
  #isFinished = false;
  #isFreed = false;
  /** Whether output is read, and callbacks may be called. */
  #isReading = false;

  constructor(engine: Engine, parser: number) {
    this.#engine = engine;
    this.#parser = parser;
  }

  get isFinished(): boolean {
    return this.#isFinished;
  }

  get isFreed(): boolean {
    return this.#isFreed;
  }

  /** Refuses calls by the callbacks that the parser itself calls. */
  #checkNotReading(): void {
    if (this.#isReading) throw new TokenlineError("reentrant", "a callback called the parser that calls it");
  }

  /** Reads a chunk. One after the end is ignored. */
  push(chunk: string | Uint8Array, sink: Sink): void {
    this.#checkNotReading();
    if (this.#isFinished) return;
    if (typeof chunk === "string") this.#pushText(chunk, sink);
    else this.#pushBytes(chunk, sink);
  }

  #pushText(chunk: string, sink: Sink): void {
    if (this.#half !== "") {
      chunk = this.#half + chunk;
      this.#half = "";
    }
    if (chunk.length > 0 && isHighSurrogate(chunk.charCodeAt(chunk.length - 1))) {
      this.#half = chunk.slice(-1);
      chunk = chunk.slice(0, -1);
    }
    if (chunk.length <= SHORT) {
      const bytes = this.#reserve(SHORT);
      const at = this.#input;
      let index = 0;
      for (; index < chunk.length; index++) {
        const unit = chunk.charCodeAt(index);
        if (unit >= 0x80) break;
        bytes[at + index] = unit;
      }
      if (index === chunk.length) {
        if (index > 0) this.#pushed(index, chunk, sink);
        return;
      }
    }
    if (!isWellFormed(chunk)) {
      for (const part of chunk.split(/(\p{Surrogate})/u)) this.#write(encoded(part), sink);
      return;
    }
    // A unit takes three bytes at most.
    const most = PIECE / 4;
    for (let start = 0; start < chunk.length && !this.#isFreed; ) {
      let end = Math.min(start + most, chunk.length);
      if (end < chunk.length && isHighSurrogate(chunk.charCodeAt(end - 1))) end -= 1;
      const piece = start === 0 && end === chunk.length ? chunk : chunk.slice(start, end);
      const bytes = this.#reserve(Math.min(piece.length * 3, PIECE));
      const { written } = encoder.encodeInto(piece, bytes.subarray(this.#input));
      this.#pushed(written, piece, sink);
      start = end;
    }
  }

  #pushBytes(chunk: Uint8Array, sink: Sink): void {
    if (this.#half !== "") {
      // It has no second half.
      this.#write(encoded(this.#half), sink);
      this.#half = "";
    }
    this.#write(chunk, sink);
  }

  #write(chunk: Uint8Array, sink: Sink): void {
    // A callback may free the parser.
    for (let start = 0; start < chunk.length && !this.#isFreed; start += PIECE) {
      const length = Math.min(PIECE, chunk.length - start);
      const bytes = this.#reserve(length);
      bytes.set(length === chunk.length ? chunk : chunk.subarray(start, start + length), this.#input);
      this.#pushed(length, undefined, sink);
    }
  }

  #reserve(length: number): Uint8Array {
    if (length > this.#room) {
      this.#room = Math.max(length, SHORT);
      this.#input = this.#engine.exports.input(this.#parser, this.#room);
    }
    return this.#engine.memory();
  }

  #pushed(length: number, text: string | undefined, sink: Sink): void {
    const output = this.#engine.exports.push(this.#parser, length);
    if (output === APPENDED) this.#growing!.append(text ?? this.#engine.text(this.#input, length));
    else if (output > 0) this.#read(output, sink);
  }

  /** Ends the text. */
  finish(hasFailed: boolean, sink: Sink): void {
    this.#checkNotReading();
    if (this.#isFinished) return;
    // The text was cut off inside a character.
    if (this.#half !== "") this.#write(Uint8Array.of(0xf0), sink);
    this.#half = "";
    this.#isFinished = true;
    if (this.#isFreed) return;
    const output = this.#engine.exports.finish(this.#parser, hasFailed ? 1 : 0);
    if (output > 0) this.#read(output, sink);
  }

  /** Whether the text is complete: its source ended it. */
  get isComplete(): boolean {
    return !this.#isFreed && (this.#engine.exports.status(this.#parser) & 1) !== 0;
  }

  /** Whether nothing is expected to follow. */
  get expectsNothing(): boolean {
    return !this.#isFreed && (this.#engine.exports.status(this.#parser) & 2) !== 0;
  }

  /** Whether the provider has ended the response: how its source ends does not matter. */
  get isTerminated(): boolean {
    return !this.#isFreed && (this.#engine.exports.status(this.#parser) & 4) !== 0;
  }

  /** Starts over with another text. */
  reset(): void {
    this.#checkNotReading();
    if (this.#isFreed) throw new TokenlineError("freed", "the parser was freed: make another one");
    this.#engine.exports.reset(this.#parser);
    this.#half = "";
    this.#growing = undefined;
    this.#isFinished = false;
  }

  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = this.#isFinished = true;
    if (!this.#isReading) this.#engine.forget(this, this.#parser);
  }

  #read(length: number, sink: Sink): void {
    this.#isReading = true;
    try {
      this.#readFrames(length, sink);
    } finally {
      this.#isReading = false;
      // By a callback.
      if (this.#isFreed) this.#engine.forget(this, this.#parser);
    }
  }

  #readFrames(length: number, sink: Sink): void {
    const engine = this.#engine;
    let bytes = engine.memory();
    let at = engine.exports.output(this.#parser);
    const end = at + length;
    /** The last event, whose value the steps may build. */
    let last: RawEvent | undefined;
    /** A value that is complete in this output, and what becomes of it. */
    let built: Growing | undefined;
    let target = 0;
    const size = (): number => {
      let size = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++]!;
        size += (byte & 0x7f) * 2 ** shift;
        if (byte < 0x80) return size;
      }
    };
    const text = (): string => {
      const length = size();
      const text = engine.text(at, length);
      at += length;
      return text;
    };
    const word = (): number => {
      const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
      at += 4;
      return word >>> 0;
    };
    const json = (): unknown[] => {
      const length = word();
      const text = decoder.decode(bytes.subarray(at, at + length));
      at += length;
      return JSON.parse(text) as unknown[];
    };
    while (at < end) {
      // A callback may have used other parsers.
      bytes = engine.memory();
      const tag = bytes[at++]!;
      switch (tag) {
        case EVENTS: {
          const events = json() as RawEvent[];
          // One whose value follows is passed on with it.
          const isFollowed = at < end && bytes[at] === BEGIN && bytes[at + 1] === 1;
          if (isFollowed) last = events.pop();
          for (const event of events) sink.event(event);
          break;
        }
        case VALUES:
          sink.values(json());
          break;
        case COUNT:
          sink.count(word());
          break;
        case BEGIN:
          target = bytes[at++]!;
          if (target === 0) this.#growing = sink.begin();
          else built = new Growing({ inPlace: true, bigints: true });
          break;
        case GONE:
          this.#growing = undefined;
          sink.gone();
          break;
        default: {
          const growing = built ?? this.#growing!;
          if (tag === APPEND) {
            growing.append(text());
            break;
          }
          if (tag > FALSE) growing.close();
          else {
            const name = growing.isInObject ? text() : "";
            if (tag === OBJECT) growing.openObject(name);
            else if (tag === ARRAY) growing.openArray(name);
            else if (tag === STRING) growing.openText(name);
            else if (tag === NUMBER) growing.setNumber(name, text());
            else growing.set(name, tag === NULL ? null : tag === TRUE);
          }
          if (built?.isWhole) {
            const value = built.snapshot();
            built = undefined;
            if (target === 2) sink.values([value]);
            else if (last) {
              last[last.type === "record" ? "value" : "parameters"] = value;
              sink.event(last);
              last = undefined;
            }
          }
        }
      }
    }
  }
}
