/// <reference lib="esnext.disposable" preserve="true" />
import { OpenCalls } from "./calls.js";
import type { OpenCall } from "./calls.js";
import type { Engine, RawEvent } from "./engine.js";
import { invalidOption } from "./errors.js";
import { Follower, type LiveState } from "./follower.js";
import type { Report } from "./report.js";
import { CALLS, LIVE, RECORDS, RESPONSES, Session, checkOptions } from "./session.js";
import { chunkOf } from "./source.js";
import type {
  CallOptions,
  Chunk,
  Growing,
  Infer,
  LiveOptions,
  Provider,
  Record as RecordEvent,
  RecordOptions,
  Reject,
  ResponseEvent,
  ResponseOptions,
  Schema,
  SoFar,
  StreamOptions,
  TextEvent,
  ToolCall,
} from "./types.js";

/** The values of records among events. */
export const values = (ready: unknown[]): unknown[] =>
  (ready as RawEvent[]).filter((event) => event.type === "record").map((event) => event["value"]);
/** The calls among events. */
export const calls = (ready: unknown[]): ToolCall[] =>
  (ready as RawEvent[]).filter((event) => event.type === "tool_call") as unknown as ToolCall[];

/** The session and the follower of a value that grows. */
export function followed(engine: Engine, options: LiveOptions & StreamOptions): [Session, Follower] {
  const { list = false, inPlace = false, bigints = false, onComplete } = options;
  const session = new Session(engine, options, { emit: "events", growing: { inPlace, bigints, list } });
  return [session, new Follower(session, list, inPlace, onComplete)];
}

/** How the text of a response is read unless the caller says: for records if there is something to say about them. */
export function textMode(options: ResponseOptions): NonNullable<ResponseOptions["textAs"]> {
  if (options.textAs !== undefined) return options.textAs;
  return options.schema !== undefined || options.items !== undefined ? "records" : "native_calls";
}

/** What the parsers without I/O have in common: chunks in, events out. */
abstract class PushParser<E> {
  protected readonly session: Session;

  protected constructor(session: Session) {
    this.session = session;
  }

  /** Reads a chunk, and returns the events that it completes. A chunk after the end is ignored. */
  push(chunk: Chunk): E[] {
    this.session.push(chunkOf(chunk));
    return this.taken();
  }

  /** Ends the text, and returns the last events. */
  finish(): E[] {
    this.session.finish(false);
    return this.taken();
  }

  protected taken(): E[] {
    const taken = this.session.judged(false) as E[];
    if (this.session.failure) throw this.session.failure.error;
    return taken;
  }

  /** What was delivered so far, and what was not. */
  get report(): Report {
    return this.session.report;
  }

  /** Frees the parser's memory now, not once it is garbage. */
  free(): void {
    this.session.free();
  }

  [Symbol.dispose](): void {
    this.free();
  }
}

function transformer<T>(session: Session, select: (ready: unknown[]) => T[]): Transformer<Chunk, T> {
  const deliver = async (controller: TransformStreamDefaultController<T>) => {
    for (const item of select(await session.judged(true))) controller.enqueue(item);
    if (!session.failure) return;
    session.free();
    throw session.failure.error;
  };
  const end = async (controller: TransformStreamDefaultController<T>) => {
    session.finish(false);
    await deliver(controller);
    session.free();
  };
  return {
    async transform(chunk, controller) {
      session.push(chunkOf(chunk));
      if (!session.hasProvider || !session.machine.expectsNothing) return deliver(controller);
      // The response is over, although its connection may stay open.
      await end(controller);
      controller.terminate();
    },
    flush: end,
  };
}

/** Parses records from text that arrives in chunks, without I/O. */
export class JsonlParser<S extends Schema = Schema> extends PushParser<TextEvent<Infer<S>>> {
  /** @internal */
  constructor(engine: Engine, options: RecordOptions<S> = {}) {
    checkOptions("JsonlParser", options, RECORDS.filter((option) => option !== "provider"));
    super(new Session(engine, options, { emit: "events" }));
  }

  /** Starts over with another text. The report goes on. */
  reset(): void {
    this.session.reset();
  }
}

/** Parses tool calls from text, or from the bytes of a provider's response, without I/O. */
export class ToolCallParser extends PushParser<ResponseEvent> {
  /** @internal */
  constructor(engine: Engine, options: CallOptions = {}) {
    checkOptions("ToolCallParser", options, CALLS);
    super(new Session(engine, options, { emit: "events", reads: "tool_calls" }));
  }
}

/** Parses the bytes of a provider's response, without I/O. */
export class ResponseParser<S extends Schema = Schema> extends PushParser<ResponseEvent<Infer<S>>> {
  readonly #open: OpenCalls;

  /** @internal */
  constructor(engine: Engine, provider: Provider, options: Omit<ResponseOptions<S>, "provider"> = {}) {
    checkOptions("ResponseParser", options, RESPONSES);
    if (typeof provider !== "string") throw invalidOption("`ResponseParser` needs a provider");
    const textAs = textMode(options);
    super(new Session(engine, { ...options, provider, textAs }, { emit: "events", hasText: true }));
    this.#open = new OpenCalls(engine, options.bigints ?? false);
  }

  protected override taken(): ResponseEvent<Infer<S>>[] {
    const taken = super.taken();
    for (const event of taken) this.#open.add(event as unknown as RawEvent);
    return taken;
  }

  /** The calls that are still being written, with their arguments so far. With `callUpdates`. */
  get openCalls(): OpenCall[] {
    return this.#open.list();
  }

  override free(): void {
    super.free();
    this.#open.clear();
  }
}

/** Shows the value of a text as it grows, without I/O. */
export class Live<S extends Schema = Schema> {
  readonly #session: Session;
  readonly #follower: Follower;

  /** @internal */
  constructor(engine: Engine, options: LiveOptions<S> = {}) {
    checkOptions("Live", options, LIVE);
    [this.#session, this.#follower] = followed(engine, options);
  }

  /** Reads a chunk. One after the end is ignored. */
  push(chunk: Chunk): void {
    this.#session.push(chunkOf(chunk));
    this.#take();
  }

  /** Ends the text. */
  finish(): void {
    this.#session.finish(false);
    this.#take();
  }

  #take(): void {
    for (const event of this.#session.judged(false)) this.#follower.add(event as RawEvent);
    if (this.#session.failure) throw this.#session.failure.error;
  }

  /** The value so far: a snapshot, unless the value is changed in place. */
  get value(): SoFar<Infer<S>, Growing<S>> | undefined {
    return this.#follower.snapshot() as SoFar<Infer<S>, Growing<S>> | undefined;
  }

  /** Where the value stands. */
  get state(): LiveState {
    return this.#follower.state;
  }

  /** The last complete record, with its value and the evidence. */
  get record(): RecordEvent<Infer<S>> | undefined {
    return this.#follower.record as RecordEvent<Infer<S>> | undefined;
  }

  /** Why the value is rejected. */
  get reject(): Reject | undefined {
    return this.#follower.reject;
  }

  /** Whether an object or array of the last value, or what it has at `key`, is complete. */
  isComplete(container: object, key?: string | number): boolean {
    return this.#follower.isComplete(container, key);
  }

  /** What was delivered so far, and what was not. */
  get report(): Report {
    return this.#session.report;
  }

  /** Frees the memory now, not once it is garbage. */
  free(): void {
    this.#session.free();
  }

  [Symbol.dispose](): void {
    this.free();
  }
}

/** A `TransformStream` from text or bytes to the values of records. */
export class RecordTransform<S extends Schema = Schema> extends TransformStream<Chunk, Infer<S>> {
  /** What was delivered so far, and what was not. */
  readonly report: Report;

  /** @internal */
  constructor(
    engine: Engine,
    options: RecordOptions<S> & Omit<StreamOptions, "signal"> = {},
    writableStrategy?: QueuingStrategy<Chunk>,
    readableStrategy?: QueuingStrategy<Infer<S>>,
  ) {
    checkOptions("RecordTransform", options, [...RECORDS, "onReject", "strict"]);
    const select = (ready: unknown[]) => values(ready) as Infer<S>[];
    const session = new Session(engine, options, { emit: "events" });
    super(transformer(session, select), writableStrategy, readableStrategy);
    this.report = session.report;
  }
}

/** A `TransformStream` from text or bytes to tool calls. */
export class ToolCallTransform extends TransformStream<Chunk, ToolCall> {
  /** What was delivered so far, and what was not. */
  readonly report: Report;

  /** @internal */
  constructor(
    engine: Engine,
    options: CallOptions & Omit<StreamOptions, "signal"> = {},
    writableStrategy?: QueuingStrategy<Chunk>,
    readableStrategy?: QueuingStrategy<ToolCall>,
  ) {
    checkOptions("ToolCallTransform", options, [...CALLS, "onReject", "strict"]);
    const select = (ready: unknown[]) => calls(ready);
    const session = new Session(engine, options, { emit: "events", reads: "tool_calls" });
    super(transformer(session, select), writableStrategy, readableStrategy);
    this.report = session.report;
  }
}

