import type { OpenCall, OpenCalls } from "./calls.js";
import type { RawEvent } from "./engine.js";
import { TokenlineError } from "./errors.js";
import type { Follower, LiveState } from "./follower.js";
import type { Session } from "./session.js";
import type { Encode } from "./source.js";
import { NOTHING, Stream } from "./stream.js";
import type {
  DeepPartial,
  LiveOptions,
  Provider,
  Record as RecordEvent,
  Reject,
  ResponseEvent,
  ResponseOptions,
  SoFar,
  Source,
  StreamOptions,
} from "./types.js";

/** How the objects of a provider's SDK become the bytes that its API sent. */
export function encodeFor(provider: Provider | undefined): Encode | undefined {
  if (provider === undefined) return undefined;
  if (provider === "bedrock") {
    return () => {
      throw new TokenlineError("unsupported_source", "a chunk must be the bytes of bedrock's response, not an object of its SDK");
    };
  }
  return provider === "ollama"
    ? (object) => `${JSON.stringify(object)}\n`
    : (object) => `data: ${JSON.stringify(object)}\n\n`;
}

/** The value of a text as it grows, for `for await`: see {@link Api.live}. */
export class LiveStream<T, Growing = DeepPartial<T>> extends Stream<SoFar<T, Growing>> {
  readonly #follower: Follower;
  readonly #watch: { changed?: () => void };

  constructor(source: Source, session: Session, follower: Follower, options: LiveOptions & StreamOptions) {
    const watch: { changed?: () => void } = {};
    let shown: unknown;
    let shownAt = 0;
    let budget = 0;
    super(
      source,
      session,
      {
        select: (ready) => {
          for (const event of ready as RawEvent[]) follower.add(event);
          return [];
        },
        after: (isEnd) => {
          if (watch.changed) {
            watch.changed();
            return NOTHING;
          }
          budget += PER_CHUNK;
          // Copies take no longer than reading did, however small the chunks are.
          if (!isEnd && follower.copied - shownAt > budget) return NOTHING;
          const value = follower.snapshot();
          const isNew = value !== undefined && (options.inPlace || value !== shown);
          shown = value;
          shownAt = follower.copied;
          budget = 0;
          return isNew ? [value as SoFar<T, Growing>] : NOTHING;
        },
        encode: encodeFor(options.provider),
      },
      options,
    );
    this.#follower = follower;
    this.#watch = watch;
  }

  /** Reads to the end, and calls back after each chunk in place of values. @internal */
  async follow(changed: () => void): Promise<void> {
    this.#watch.changed = changed;
    await this.next();
  }

  /** The elements of the list that are complete records; others may follow. @internal */
  get accepted(): number {
    return this.#follower.accepted;
  }

  /** The record in which the text ended, of which a list has nothing. @internal */
  get cutOff(): unknown {
    return this.#follower.cutOff;
  }

  /** The value so far. */
  get value(): SoFar<T, Growing> | undefined {
    return this.#follower.snapshot() as SoFar<T, Growing> | undefined;
  }

  /** Where the value stands. */
  get state(): LiveState {
    return this.#follower.state;
  }

  /** The last complete record, with its value and the evidence. */
  get record(): RecordEvent<T> | undefined {
    return this.#follower.record as RecordEvent<T> | undefined;
  }

  /** Why the value is rejected. */
  get reject(): Reject | undefined {
    return this.#follower.reject;
  }

  /** Whether an object or array of the last value, or what it has at `key`, is complete. */
  isComplete(container: object, key?: string | number): boolean {
    return this.#follower.isComplete(container, key);
  }
}

/** The copies that a chunk pays for. */
const PER_CHUNK = 64;

/** The events of a response, for `for await`: see {@link Api.responses}. */
export class ResponseStream<T> extends Stream<ResponseEvent<T>> {
  readonly #open: OpenCalls;

  constructor(source: Source, session: Session, open: OpenCalls, options: ResponseOptions & StreamOptions) {
    const select = (ready: unknown[]) => {
      for (const event of ready as RawEvent[]) open.add(event);
      return ready as ResponseEvent<T>[];
    };
    super(source, session, { select, encode: encodeFor(options.provider) }, options);
    this.#open = open;
  }

  /** The calls that are still being written, with their arguments so far. With `callUpdates`. */
  get openCalls(): OpenCall[] {
    return this.#open.list();
  }
}

