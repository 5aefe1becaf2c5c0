import { TokenlineError } from "./errors.js";
import { EventLines, isEventStream } from "./sse.js";
import type { Chunk, Reject, Source } from "./types.js";

/** A source as all of them are read. */
interface Chunks {
  next(): PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown>;
  /** Ends the source early. */
  cancel(reason?: unknown): Promise<void>;
}

/** How objects in place of bytes become bytes: those of a provider's SDK. */
export type Encode = (object: object) => string;

/** What kind of value this is. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value !== "object") return typeof value;
  return (value as { constructor?: { name?: string } }).constructor?.name ?? "object";
}

/** A chunk as a string or bytes. */
export function chunkOf(value: unknown, encode?: Encode): Chunk {
  if (typeof value === "string" || value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (encode && typeof value === "object" && value !== null) return encode(value);
  throw new TokenlineError(
    "unsupported_source",
    `a chunk must be a string or bytes, not ${describe(value)}` +
      (typeof value === "object" && value !== null ? "; for the stream of a provider's SDK, say which `provider`" : ""),
  );
}

function ofIterator(iterator: AsyncIterator<unknown> | Iterator<unknown>): Chunks {
  return {
    next: () => iterator.next(),
    async cancel() {
      await iterator.return?.();
    },
  };
}

async function httpError(response: Response): Promise<TokenlineError> {
  const { status, statusText } = response;
  let body = "";
  try {
    body = (await response.text()).trim().slice(0, 300);
  } catch {
    // The status says enough.
  }
  const message = `HTTP ${status}${statusText && ` ${statusText}`}${body && `: ${body}`}`;
  return new TokenlineError("http_error", message, { status });
}

/** What is told of a reject in server-sent events; without it, they are not looked for: a provider's parser reads its own. */
export type OnReject = ((reject: Reject) => void) | undefined;

/** Opens a source. */
async function open(source: Source, onReject: OnReject): Promise<Chunks> {
  const opened = (await (source as unknown)) as unknown;
  if (typeof opened === "string" || ArrayBuffer.isView(opened) || opened instanceof ArrayBuffer) {
    return ofIterator([opened][Symbol.iterator]());
  }
  if (typeof opened === "object" && opened !== null) {
    const its = opened as Partial<Response & ReadableStream & AsyncIterable<unknown> & Iterable<unknown>>;
    // A response, also of another implementation of `fetch`.
    if ("body" in its && "status" in its) {
      if (its.ok === false) throw await httpError(opened as Response);
      if (!its.body) return ofIterator([][Symbol.iterator]());
      const hasEvents = onReject !== undefined && isEventStream(opened as Response);
      return hasEvents ? ofIterator(new EventLines(its.body, onReject)) : open(its.body as Source, onReject);
    }
    if (typeof its.getReader === "function") {
      const reader = (opened as ReadableStream).getReader();
      return { next: () => reader.read(), cancel: (reason) => reader.cancel(reason) };
    }
    if (its[Symbol.asyncIterator]) return ofIterator(its[Symbol.asyncIterator]!());
    if (its[Symbol.iterator]) return ofIterator(its[Symbol.iterator]!());
  }
  throw new TokenlineError(
    "unsupported_source",
    `cannot read from ${describe(opened)}; expected a Response, a ReadableStream, an (async) iterable, a string or bytes`,
  );
}

/** Reads a source, which it opens for the first chunk, until it ends or the signal is aborted. */
export class Reader {
  readonly #source: Source;
  readonly #signal: AbortSignal | undefined;
  readonly #onReject: OnReject;
  #opening: Promise<Chunks> | undefined;
  #chunks: Chunks | undefined;
  /** Rejects the chunk that is waited for. */
  #interrupt: ((reason: unknown) => void) | undefined;
  /** The source has ended, failed or been cancelled. */
  #isOver = false;

  constructor(source: Source, signal: AbortSignal | undefined, onReject: OnReject) {
    this.#source = source;
    // It may fail before it is read.
    if (source instanceof Promise) source.catch(() => undefined);
    this.#signal = signal;
    this.#onReject = onReject;
  }

  readonly #abort = (): void => {
    const { reason } = this.#signal!;
    this.#interrupt?.(reason);
    this.cancel(reason).catch(() => undefined);
  };

  /** The next chunk, which {@link chunkOf} checks. */
  next(): PromiseLike<IteratorResult<unknown>> | IteratorResult<unknown> {
    if (this.#signal?.aborted) {
      this.#abort();
      throw this.#signal.reason;
    }
    const next = this.#chunks ? this.#chunks.next() : this.#first();
    if (!this.#signal || !("then" in next)) return next;
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      next.then(resolve, reject);
    });
  }

  async #first(): Promise<IteratorResult<unknown>> {
    this.#signal?.addEventListener("abort", this.#abort);
    this.#opening = open(this.#source, this.#onReject);
    this.#chunks = await this.#opening;
    return this.#isOver ? { done: true, value: undefined } : this.#chunks.next();
  }

  /** The source has ended, or failed. */
  close(): void {
    this.#isOver = true;
    this.#signal?.removeEventListener("abort", this.#abort);
  }

  /** Ends the source early. */
  async cancel(reason?: unknown): Promise<void> {
    if (this.#isOver) return;
    this.close();
    if (this.#chunks) await this.#chunks.cancel(reason);
    // It may never come.
    else (this.#opening ?? open(this.#source, this.#onReject)).then((chunks) => chunks.cancel(reason)).catch(() => undefined);
  }
}
