import { OpenCalls } from "./calls.js";
import type { Engine } from "./engine.js";
import { invalidOption } from "./errors.js";
import {
  JsonlParser,
  Live,
  RecordTransform,
  ResponseParser,
  ToolCallParser,
  ToolCallTransform,
  calls,
  followed,
  textMode,
  values,
} from "./parsers.js";
import type { Report } from "./report.js";
import { isStandard } from "./schemas.js";
import { CALLS, LIVE, RECORDS, RESPONSES, STREAM, Session, checkOptions } from "./session.js";
import { Stream } from "./stream.js";
import { LiveStream, ResponseStream, encodeFor } from "./streams.js";
import type {
  CallOf,
  CallOptions,
  Chunk,
  Growing,
  Infer,
  LiveOptions,
  Provider,
  RecordOptions,
  ResponseOptions,
  Schema,
  Source,
  StreamOptions,
  ToolCall,
  Tools,
} from "./types.js";

/** All functions and classes of the package. */
export interface Api {
  /**
   * The records of a text, or of a provider's response, each as soon as it is complete.
   *
   * ```ts
   * for await (const entity of records(fetch("/entities.jsonl"), { schema: Entity })) show(entity);
   * ```
   */
  records<S extends Schema = Schema>(source: Source, options?: RecordOptions<S> & StreamOptions): Stream<Infer<S>>;

  /** Reads all records and makes no objects of them: which are valid is in the report. */
  validate(source: Source, options?: RecordOptions & StreamOptions): Promise<Report>;

  /**
   * The tool calls of a text, or of a provider's response, native calls and those in its text alike.
   *
   * ```ts
   * for await (const call of toolCalls(fetch(url, request), { provider: "anthropic", tools })) await run(call);
   * ```
   */
  toolCalls<T extends Tools = Tools>(source: Source, options?: CallOptions<T> & StreamOptions): Stream<CallOf<T>>;

  /** Everything in a provider's response, in order: text, reasoning, records, calls, rejects, usage and the end. */
  responses<S extends Schema = Schema>(
    source: Source,
    options: ResponseOptions<S> & StreamOptions & { provider: Provider },
  ): ResponseStream<Infer<S>>;

  /**
   * The value of a text as it grows: after each chunk, what is certain of it. Strings grow; numbers and literals come
   * whole. What has not changed keeps its identity; what was handed out never changes.
   *
   * ```ts
   * for await (const recipe of live(response, { schema: Recipe })) render(recipe);
   * ```
   */
  live<S extends Schema = Schema>(
    source: Source,
    options: LiveOptions<S> & StreamOptions & { list: true },
  ): LiveStream<Infer<S>, (Infer<S> | Growing<S>)[]>;
  live<S extends Schema = Schema>(source: Source, options?: LiveOptions<S> & StreamOptions): LiveStream<Infer<S>, Growing<S>>;

  /** Parses records from text that arrives in chunks, without I/O. */
  JsonlParser: new <S extends Schema = Schema>(options?: RecordOptions<S>) => JsonlParser<S>;

  /** Parses tool calls from text, or from the bytes of a provider's response, without I/O. */
  ToolCallParser: new (options?: CallOptions) => ToolCallParser;

  /** Parses the bytes of a provider's response, without I/O. */
  ResponseParser: new <S extends Schema = Schema>(
    provider: Provider,
    options?: Omit<ResponseOptions<S>, "provider">,
  ) => ResponseParser<S>;

  /** Shows the value of a text as it grows, without I/O. */
  Live: new <S extends Schema = Schema>(options?: LiveOptions<S>) => Live<S>;

  /** A `TransformStream` from text or bytes to the values of records. */
  RecordTransform: new <S extends Schema = Schema>(
    options?: RecordOptions<S> & Omit<StreamOptions, "signal">,
    writableStrategy?: QueuingStrategy<Chunk>,
    readableStrategy?: QueuingStrategy<Infer<S>>,
  ) => RecordTransform<S>;

  /** A `TransformStream` from text or bytes to tool calls. */
  ToolCallTransform: new (
    options?: CallOptions & Omit<StreamOptions, "signal">,
    writableStrategy?: QueuingStrategy<Chunk>,
    readableStrategy?: QueuingStrategy<ToolCall>,
  ) => ToolCallTransform;
}

/** A class whose constructor has the engine. */
function bound<C>(load: () => Engine, Class: new (engine: Engine, ...rest: never[]) => unknown): C {
  const Base = Class as new (engine: Engine, ...rest: unknown[]) => object;
  return {
    [Class.name]: class extends Base {
      constructor(...rest: unknown[]) {
        super(load(), ...rest);
      }
    },
  }[Class.name] as C;
}

/** Makes the functions and classes over a module, which is compiled when it is first needed. */
export function apiOf(load: () => Engine): Api {
  return {
    records<S extends Schema>(source: Source, options: RecordOptions<S> & StreamOptions = {}) {
      checkOptions("records", options, [...RECORDS, ...STREAM]);
      const isJudged = isStandard(options.schema);
      const session = new Session(load(), options, { emit: isJudged ? "events" : "values" });
      const select = (ready: unknown[]) => (isJudged ? values(ready) : ready) as Infer<S>[];
      return new Stream(source, session, { select, encode: encodeFor(options.provider) }, options);
    },

    async validate(source, options = {}) {
      checkOptions("validate", options, [...RECORDS, ...STREAM]);
      const session = new Session(load(), options, { emit: isStandard(options.schema) ? "events" : "counts" });
      const reading = { select: () => [], encode: encodeFor(options.provider) };
      await new Stream(source, session, reading, options).toArray();
      return session.report;
    },

    toolCalls<T extends Tools>(source: Source, options: CallOptions<T> & StreamOptions = {}) {
      checkOptions("toolCalls", options, [...CALLS, ...STREAM]);
      const session = new Session(load(), options, { emit: "events", reads: "tool_calls" });
      const select = (ready: unknown[]) => calls(ready) as CallOf<T>[];
      return new Stream(source, session, { select, encode: encodeFor(options.provider) }, options);
    },

    responses(source, options = {} as never) {
      checkOptions("responses", options, [...RESPONSES, ...STREAM]);
      if (options.provider === undefined) throw invalidOption("`responses` needs a `provider`");
      const session = new Session(load(), { ...options, textAs: textMode(options) }, { emit: "events", hasText: true });
      return new ResponseStream(source, session, new OpenCalls(load(), options.bigints ?? false), options);
    },

    live: ((source: Source, options: LiveOptions & StreamOptions = {}) => {
      checkOptions("live", options, [...LIVE, ...STREAM]);
      const [session, follower] = followed(load(), options);
      return new LiveStream(source, session, follower, options);
    }) as Api["live"],

    JsonlParser: bound(load, JsonlParser),
    ToolCallParser: bound(load, ToolCallParser),
    ResponseParser: bound(load, ResponseParser),
    Live: bound(load, Live),
    RecordTransform: bound(load, RecordTransform),
    ToolCallTransform: bound(load, ToolCallTransform),
  };
}
