import type { StandardSchemaV1 } from "./standard-schema.js";

/** A piece of a text: a string, or its UTF-8. */
export type Chunk = string | Uint8Array;

/**
 * Where a text comes from: a `Response`, a `ReadableStream` of bytes or text, an iterable or async iterable of them, all
 * of the text, or a promise of one of these. A source is read only as fast as the results are taken, and cancelled when
 * the loop over them ends early.
 */
export type Source =
  | Response
  | ReadableStream<Chunk>
  | AsyncIterable<Chunk | object>
  | Iterable<Chunk | object>
  | ArrayBufferView
  | ArrayBuffer
  | string
  | PromiseLike<Source>;

/** A JSON Schema. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/**
 * The schema of records: a JSON Schema, or that of a library with the [Standard Schema](https://standardschema.dev)
 * interface, such as zod, valibot and arktype.
 */
export type Schema = JsonSchema | StandardSchemaV1;

/** The type of the values that a schema accepts. */
export type Infer<S> = S extends StandardSchemaV1<infer _In, infer Out> ? Out : unknown;

/** The type of the values that a schema takes: what a model writes, before defaults and transforms. */
export type InferInput<S> = S extends StandardSchemaV1<infer In, infer _Out> ? In : unknown;

/** The type of a value of a schema while it grows, before defaults and transforms. */
export type Growing<S> = [DeepPartial<InferInput<S>>] extends [DeepPartial<Infer<S>>]
  ? DeepPartial<Infer<S>>
  : DeepPartial<InferInput<S>>;

/** A value that grows, or what its schema has made of it at the end. */
export type SoFar<T, Growing> = [T] extends [Growing] ? Growing : Growing extends readonly unknown[] ? Growing : T | Growing;

/** Objects without parts that grow. */
type Atom = Date | RegExp | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | ((...args: never[]) => unknown);

/** A value that is still being written: each part may be absent, and strings and arrays may be longer later. */
export type DeepPartial<T> = T extends Atom
  ? T
  : T extends readonly (infer Element)[]
    ? DeepPartial<Element>[]
    : T extends object
      ? { [Key in keyof T]?: DeepPartial<T[Key]> }
      : T;

/** Why a record or call is known to be complete. */
export type Completion =
  | "newline"
  | "next_item"
  | "array_element"
  | "text"
  | "item_stop"
  | "finish_reason"
  | "terminator"
  | "end_of_input"
  | "balanced";

/** The fault, or the note, that an event reports. The names are stable. */
export type Code =
  | "prose"
  | "call_in_text"
  | "malformed_json"
  | "truncated"
  | "not_an_object"
  | "trailing_data"
  | "late_fragment"
  | "duplicate_key"
  | "invalid_utf8"
  | "line_too_long"
  | "too_deep"
  | "record_too_large"
  | "schema_violation"
  | "missing_field"
  | "unknown_tool"
  | "invalid_parameters"
  | "unsealed"
  | "provider_error"
  | "stream_incomplete"
  | "stray_lines"
  | "calls_missing"
  | "content_filter"
  | "refused"
  | "token_limit"
  | "repetition";

/** A provider's wire format. */
export type Provider =
  | "openai-chat"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "gemini-interactions"
  | "cohere"
  | "bedrock"
  | "ollama";

/** The part of a response that an event belongs to; absent in a text. */
export interface Part {
  /** The number of the choice; the first is 0. */
  choice?: number;
  /** The provider's number of the part of the choice. */
  block?: number;
}

/** The place of a record in its text. */
export interface Place {
  /** The line on which it starts, from 1. */
  line: number;
  /** Its column: bytes, from 1. */
  column: number;
  /** The offset of its first byte. */
  start: number;
  /** The offset after its last byte. */
  end: number;
}

/** A complete record. */
export interface Record<T = unknown> extends Place, Part {
  type: "record";
  value: T;
  completion: Completion;
  /** The faults for which the strict mode would have rejected it. */
  recovered?: string[];
}

/** What a reject and a note have in common. */
export interface Finding extends Place, Part {
  code: Code;
  /** One sentence. It names places and rules, never values. */
  message: string;
  /** What the place refers to: the `text` by default, the `arguments` of a native call, or the `wire`. */
  origin?: "arguments" | "wire";
  /** JSON Pointer into the record. */
  instancePath?: string;
  /** JSON Pointer into the schema. */
  schemaPath?: string;
}

/** Something that looked like data and was not delivered. */
export interface Reject extends Finding {
  type: "reject";
  /** The other rules that it breaks. */
  further?: { code: Code; message: string; line: number; column: number; instancePath?: string; schemaPath?: string }[];
}

/** Information that is not a reject, such as a line of prose. */
export interface Note extends Finding {
  type: "note";
}

/** A complete tool call. */
export interface ToolCall<Name extends string = string, Parameters = unknown> extends Part {
  type: "tool_call";
  name: Name;
  parameters: Parameters;
  /** Its id, if the model or the provider gave one. */
  id?: string;
  /** The id was made up: it is unique in its response only. */
  syntheticId?: true;
  /** Its number in the choice, as in {@link ToolCallBegan}. */
  number?: number;
  completion: Completion;
  recovered?: string[];
  /** The error that the model itself reports in the call. */
  error?: unknown;
  line?: number;
  column?: number;
  start?: number;
  end?: number;
}

/** A call that was not delivered. */
export interface RejectedCall extends Finding {
  type: "rejected_call";
  name?: string;
  id?: string;
  syntheticId?: true;
  number?: number;
  /** What was received, with `showValues`; if a Standard Schema rejects it, the arguments as JSON. */
  received?: string;
}

/** A call begins: its name is known. With `callUpdates`. */
export interface ToolCallBegan {
  type: "tool_call_began";
  name: string;
  number: number;
  id?: string;
  choice: number;
}

/** More of the arguments of a call, as JSON text. With `callUpdates`. */
export interface ToolCallArguments {
  type: "tool_call_arguments";
  text: string;
  number: number;
  choice: number;
}

/** What began as a call is none. With `callUpdates`. */
export interface ToolCallDiscarded {
  type: "tool_call_discarded";
  number: number;
  choice: number;
}

/** Text outside records and calls. */
export interface Text extends Part {
  type: "text";
  text: string;
}

/** Reasoning. */
export interface Reasoning {
  type: "reasoning";
  text: string;
  /** What the provider expects back. */
  opaque?: unknown;
  choice: number;
}

/** The model refuses. */
export interface Refusal {
  type: "refusal";
  text: string;
  choice: number;
}

/** A choice has ended. */
export interface Finish {
  type: "finish";
  reason: string;
  choice: number;
}

/** The tokens so far. */
export interface Usage {
  type: "usage";
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  cachedInputTokens?: number;
  cacheCreationInputTokens?: number;
  reasoningTokens?: number;
}

/** An event of a text. */
export type TextEvent<T = unknown> = Record<T> | Reject | Note;

/** An event of a response. */
export type ResponseEvent<T = unknown, Call extends ToolCall = ToolCall> =
  | TextEvent<T>
  | Call
  | RejectedCall
  | ToolCallBegan
  | ToolCallArguments
  | ToolCallDiscarded
  | Text
  | Reasoning
  | Refusal
  | Finish
  | Usage;

/** Limits of memory and time, as in the Rust crates. */
export interface Limits {
  /** Bytes of a line or an open record; 8 MiB by default. */
  lineBytes?: number;
  /** Containers around a value; 127 by default. */
  depth?: number;
  /** Bytes of a line of server-sent events; 16 MiB by default. */
  sseLineBytes?: number;
  /** Bytes of one server-sent event; 16 MiB by default. */
  sseEventBytes?: number;
  /** Rejects and notes that a report keeps; 1,000 by default. The rest are counted. */
  diagnostics?: number;
}

/** How a text is read. */
export interface TextOptions extends Limits {
  /** `lenient` reads what models write in place of JSON Lines; `strict` reads JSON Lines and nothing else. */
  mode?: "lenient" | "strict";
  /** When a record is released: once what follows proves that it is complete, on its closing brace, or at the end. */
  release?: "confirmed" | "on_balance" | "at_finish";
  /** The text begins inside the model's reasoning. */
  inReasoning?: boolean;
  /** Integers that a number cannot hold are bigints. */
  bigints?: boolean;
}

/** What streams have in common. */
export interface StreamOptions {
  /** Ends the stream, and cancels its source. */
  signal?: AbortSignal;
  /** Called for each reject, as it is found. */
  onReject?: (reject: Reject | RejectedCall) => void;
  /** The first reject is an error. */
  strict?: boolean;
}

/** How records are read. */
export interface RecordOptions<S extends Schema = Schema> extends TextOptions {
  /** What each record must be. A JSON Schema needs the entry point `tokenline/schema`. */
  schema?: S;
  /** JSON Pointer to the array whose elements are the records. */
  items?: string;
  /** The provider of a response whose text has the records. Needs `tokenline/providers`. */
  provider?: Provider;
}

/** A tool: its name, and what its arguments must be. */
export interface Tool {
  name: string;
  description?: string;
  /** The schema of the arguments. */
  parameters?: Schema;
  /** The same, by the name that the AI SDK and MCP use. */
  inputSchema?: Schema;
}

/** Tools: a list of them, those of a provider's request, or by their names: they, or the schemas of their arguments. */
export type Tools = readonly (Tool | object)[] | { readonly [name: string]: object };

/** The type of the arguments of a tool, or of those that a schema accepts. */
type ParametersOf<T> = T extends StandardSchemaV1
  ? Infer<T>
  : T extends { readonly inputSchema: infer S }
    ? Infer<S>
    : T extends { readonly parameters: infer S }
      ? Infer<S>
      : unknown;

/** The type of the calls of these tools: by name, if they are given by name. */
export type CallOf<T> = T extends readonly unknown[]
  ? ToolCall
  : string extends keyof T
    ? ToolCall
    : { [Name in keyof T & string]: ToolCall<Name, ParametersOf<T[Name]>> }[keyof T & string];

/** How tool calls are read. */
export interface CallOptions<T extends Tools = Tools> extends TextOptions {
  /** The provider of a response. Without one, the source is a text. Needs `tokenline/providers`. */
  provider?: Provider;
  /** The tools that may be called. Their arguments are checked by `tokenline/schema`, or by their own schemas. */
  tools?: T;
  /** How the calls in the text are written: `auto`, a syntax, or a family of models. */
  callFormat?: string;
  /** Rejected calls have what was received. */
  showValues?: boolean;
}

/** How a response is read. */
export interface ResponseOptions<S extends Schema = Schema> extends RecordOptions<S>, CallOptions {
  /** How its text is read. `native_calls` by default: as text, and calls are those of the provider. */
  textAs?: "records" | "tool_calls" | "records_and_tool_calls" | "native_calls" | "text";
  /** Calls are shown as they grow. */
  callUpdates?: boolean;
}

/** How a value that grows is shown. */
export interface LiveOptions<S extends Schema = Schema> extends RecordOptions<S> {
  /** The value is the list of all records, of which the last may be open. By default, it is the first record. */
  list?: boolean;
  /** The value is one object that changes. By default, each is a snapshot that does not. */
  inPlace?: boolean;
  /** Called for each part that is complete, innermost first. */
  onComplete?: (value: unknown, path: readonly (string | number)[]) => void;
}
