/// <reference lib="esnext.disposable" preserve="true" />
import type { RawEvent } from "./engine.js";
import type { Report } from "./report.js";
import type { Session } from "./session.js";
import { type Encode, Reader, chunkOf } from "./source.js";
import type { Chunk, Reject, Source, StreamOptions } from "./types.js";

/** What a stream does with its session. */
export interface Reading<T> {
  /** What becomes of what is ready; events that are not delivered are left out. */
  select: (ready: unknown[]) => T[];
  /** What is delivered after a chunk in place of that; `isEnd` if none follows. */
  after?: (isEnd: boolean) => readonly T[];
  /** How a provider's objects become bytes. */
  encode?: Encode | undefined;
}

/** No results. */
export const NOTHING: readonly never[] = [];

/**
 * Results as they are complete, for `for await`. Ending the loop cancels the source; so does the signal. Rejects are in
 * the {@link report}, and go to `onReject`.
 */
export class Stream<T> implements AsyncIterableIterator<T> {
  readonly #session: Session;
  readonly #reading: Reading<T>;
  readonly #reader: Reader;
  #ready: readonly T[] = NOTHING;
  #at = 0;
  /** The calls that are not answered. */
  #calls = 0;
  /** What the last call waits for: the next one waits for it. */
  #last: Promise<IteratorResult<T, undefined>> | undefined;
  #failure: { error: unknown } | undefined;
  #isEnded = false;

  constructor(source: Source, session: Session, reading: Reading<T>, options: StreamOptions) {
    this.#session = session;
    this.#reading = reading;
    const onReject = reading.encode ? undefined : (reject: Reject) => session.found(reject as unknown as RawEvent);
    this.#reader = new Reader(source, options.signal, onReject);
  }

  /** What was delivered so far, and what was not. */
  get report(): Report {
    return this.#session.report;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#calls === 0) {
      if (this.#at < this.#ready.length) return Promise.resolve({ done: false, value: this.#ready[this.#at++]! });
      this.#calls++;
      return (this.#last = this.#first());
    }
    this.#calls++;
    const more = () => this.#more();
    return (this.#last = this.#last!.then(more, more));
  }

  /** All that is left, in an array. */
  async toArray(): Promise<T[]> {
    const all: T[] = [];
    for await (const item of this) all.push(item);
    return all;
  }

  /**
   * Answers a call with what the next chunk brings, if it brings something. An async function would take longer than the
   * reading of a small chunk.
   */
  #first(): Promise<IteratorResult<T, undefined>> {
    if (this.#failure || this.#isEnded) return this.#more();
    try {
      const next = this.#reader.next();
      return next instanceof Promise ? next.then(this.#arrived, this.#sourceFailed) : this.#more({ next });
    } catch (error) {
      return this.#sourceFailed(error);
    }
  }

  readonly #arrived = (next: IteratorResult<unknown>): IteratorResult<T, undefined> | Promise<IteratorResult<T, undefined>> => {
    // As of a source that gives something else.
    if (typeof next !== "object" || next === null) return this.#more({ next });
    try {
      const reading = this.#read(next.done, next.value);
      if (reading) return reading.then(() => this.#more(), (error) => this.#failed(error, false));
    } catch (error) {
      return this.#failed(error, false);
    }
    if (this.#at === this.#ready.length) return this.#more();
    this.#calls--;
    return { done: false, value: this.#ready[this.#at++]! };
  };

  readonly #sourceFailed = (error: unknown): Promise<IteratorResult<T, undefined>> => this.#failed(error, true);

  async #failed(error: unknown, isReading: boolean): Promise<IteratorResult<T, undefined>> {
    await this.#fail(error, isReading);
    return this.#more();
  }

  /** Answers a call, whatever it takes; `given` is what the source gave last. */
  async #more(given?: {
    next: PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown>;
  }): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      if (this.#at < this.#ready.length) {
        this.#calls--;
        return { done: false, value: this.#ready[this.#at++]! };
      }
      if (this.#failure) {
        this.#calls--;
        const { error } = this.#failure;
        this.#failure = undefined;
        this.#end(error).catch(() => undefined);
        throw error;
      }
      if (this.#isEnded) {
        this.#calls--;
        return { done: true, value: undefined };
      }
      let isReading = true;
      try {
        const next = given ? given.next : this.#reader.next();
        given = undefined;
        const { done, value } = "then" in next ? await next : next;
        isReading = false;
        const reading = this.#read(done, value);
        if (reading) await reading;
      } catch (error) {
        await this.#fail(error, isReading);
      }
    }
  }

  /** Reads what the source gave. A promise if a schema takes time. */
  #read(done: boolean | undefined, value: unknown): Promise<void> | undefined {
    if (done) this.#reader.close();
    if (this.#isEnded) return undefined;
    const isLast = this.#push(done ? undefined : chunkOf(value, this.#reading.encode));
    if (isLast) this.#reader.cancel().catch(() => undefined);
    const judged = this.#session.judged(true);
    if (judged instanceof Promise) {
      return judged.then((judged) => {
        if (!this.#isEnded) this.#take(judged, isLast);
      });
    }
    // A callback may have ended it.
    if (!this.#isEnded) this.#take(judged, isLast);
    return undefined;
  }

  async #fail(error: unknown, isReading: boolean): Promise<void> {
    if (isReading) this.#reader.close();
    if (this.#isEnded) return;
    const isComplete = isReading && this.#session.machine.isTerminated;
    if (!isComplete) this.#failure = { error };
    await this.#endText(!isComplete);
  }

  /** Ends the text whose source, or whose schema, has failed: what was complete is delivered first. */
  async #endText(hasFailed: boolean): Promise<void> {
    try {
      this.#session.finish(hasFailed);
      const judged = await this.#session.judged(true);
      if (!this.#isEnded) this.#take(judged, true);
    } catch {
      // The first error is the one to throw.
      this.#ready = NOTHING;
      this.#at = 0;
    }
  }

  /** Reads a chunk, or the end. Returns whether nothing follows. */
  #push(chunk: Chunk | undefined): boolean {
    const session = this.#session;
    if (chunk !== undefined) {
      session.push(chunk);
      if (!session.hasProvider || !session.machine.expectsNothing) return false;
    }
    session.finish(false);
    return true;
  }

  #take(judged: unknown[], isEnd: boolean): void {
    const { select, after } = this.#reading;
    const ready = judged.length > 0 ? select(judged) : NOTHING;
    this.#ready = after ? after(isEnd) : ready;
    this.#at = 0;
    if (this.#session.failure) this.#failure ??= this.#session.failure;
    else if (isEnd && !this.#failure) {
      this.#isEnded = true;
      this.#session.free();
    }
  }

  async #end(reason?: unknown): Promise<void> {
    this.#isEnded = true;
    this.#session.free();
    await this.#reader.cancel(reason);
  }

  /** Ends the stream early, and cancels its source. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#ready = NOTHING;
    this.#at = 0;
    this.#failure = undefined;
    await this.#end().catch(() => undefined);
    return { done: true, value: undefined };
  }

  async throw(error?: unknown): Promise<IteratorResult<T, undefined>> {
    await this.return();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}
