import type { Api } from "./api.js";
import { TokenlineError } from "./errors.js";
import { Report } from "./report.js";
import type { LiveStream } from "./streams.js";
import type { LiveOptions, Reject, RejectedCall, Source, StreamOptions } from "./types.js";

/** The functions that a {@link Store} needs: those of any entry point of this package. */
export type Functions = Pick<Api, "live">;

/** How a function asks for a response: to be passed on to `fetch`. */
export type EndpointInit = RequestInit & { signal: AbortSignal; headers: { [name: string]: string } };

/**
 * Where a response comes from:
 *
 * - a URL. The input is sent to it by `POST`, as JSON; `FormData` and `URLSearchParams` as they are.
 * - a function of the input. It returns a `Response`, or any other source, or a promise of one. `init` has the signal and
 *   the headers of the request: pass it on, `fetch(url, init)`.
 */
export type Endpoint<Input = unknown> = string | URL | ((input: Input, init: EndpointInit) => Source);

/** The counts of a {@link Report}, as they were. */
export type ReportSnapshot = Readonly<Omit<Report, "add">>;

/** What all hooks show of a response. */
export interface Status {
  /** Why there is no more: an HTTP error, a lost connection, a wrong option. What a model wrote wrong is in the report. */
  readonly error: Error | undefined;
  /** Whether the response is not over. */
  readonly isLoading: boolean;
  /** What was delivered so far, and what was not. */
  readonly report: ReportSnapshot;
  /**
   * Whether an object or array in the value, or what it has at `key`, is complete: `isComplete(open, "title")`. Strings
   * grow; numbers and literals come whole.
   */
  readonly isComplete: (container: object, key?: string | number) => boolean;
}

/** What can be done with a response. The functions never change. */
export interface Controls<Input = unknown> {
  /** Sends a request. What has come before is cleared, and the request before is aborted. */
  readonly submit: (...given: undefined extends Input ? [input?: Input, init?: RequestInit] : [input: Input, init?: RequestInit]) => void;
  /** Aborts the request. What has come stays. */
  readonly stop: () => void;
  /** Aborts the request, and starts over with nothing. */
  readonly clear: () => void;
}

/** How a store reads, and whom it tells. */
export interface StoreOptions<Shown = unknown>
  extends Omit<LiveOptions, "list" | "inPlace">,
    Pick<StreamOptions, "onReject" | "strict"> {
  /** More for all requests: headers, credentials. */
  init?: RequestInit;
  /** The least time between two updates in milliseconds. By default, an update is shown in the next frame. */
  throttle?: number;
  /** Called once a response has ended without an error; not after `stop`. */
  onFinish?: (result: Shown) => void;
  /** Called with each {@link Status.error}. */
  onError?: (error: Error) => void;
}

/** What a store shows of a stream. */
export interface View<V extends object> {
  isList: boolean;
  /** `before` is what it has shown of the same stream; `none` at first. */
  show: (stream: LiveStream<unknown>, before: V) => V;
  none: V;
}

/** What a store shows. */
export type Shown<V, Input> = V & Status & Controls<Input>;

/** One request, and its response. */
interface Run {
  readonly controller: AbortController;
  stream?: LiveStream<unknown>;
}

/** Server-sent events have rejects and errors as well, which lines of records have not. */
const ACCEPT = "text/event-stream, application/x-ndjson;q=0.9, application/jsonl;q=0.9, */*;q=0.5";

const NO_REPORT: ReportSnapshot = { ...new Report() };

function isSame<T extends object>(one: T, other: T): boolean {
  return (Object.keys(one) as (keyof T)[]).every((key) => Object.is(one[key], other[key]));
}

/** Calls back with the next frame. A tab that is not shown has none. */
function nextFrame(callback: () => void): () => void {
  if (typeof requestAnimationFrame === "undefined" || globalThis.document?.hidden) return timer(callback, 16);
  const frame = requestAnimationFrame(callback);
  return () => cancelAnimationFrame(frame);
}

function timer(callback: () => void, milliseconds: number): () => void {
  const timeout = setTimeout(callback, milliseconds);
  return () => clearTimeout(timeout);
}

type Opened = Exclude<Source, PromiseLike<unknown>>;

/** Refuses a page, such as that of a login. */
async function readable(source: Promise<unknown>): Promise<Opened> {
  const opened = (await source) as Response;
  const { ok, body, headers } = (opened ?? {}) as Partial<Response>;
  if (!ok || !body || typeof headers?.get !== "function") return opened;
  if (/^text\/html\b/i.test(headers.get("content-type") ?? "")) {
    body.cancel().catch(() => undefined);
    throw new TokenlineError("unsupported_source", `the response is a page in HTML: is ${opened.url} the right URL?`);
  }
  return opened;
}

/**
 * A response outside the components that show it: a value that changes, and tells its subscribers at most once in a
 * frame.
 */
export class Store<V extends object, Input> {
  readonly #functions: () => Functions | PromiseLike<Functions>;
  readonly #view: View<V>;
  readonly #first: Shown<V, Input>;
  readonly #listeners = new Set<() => void>();
  #endpoint: Endpoint<Input>;
  #options: StoreOptions<Shown<V, Input>>;
  #shown: Shown<V, Input>;
  /** Whether something was open when this was shown. */
  #isOpen = false;
  #run: Run | undefined;
  #cancelFrame: (() => void) | undefined;
  #shownAt = 0;
  #isLeft = false;

  constructor(
    functions: () => Functions | PromiseLike<Functions>,
    view: View<V>,
    endpoint: Endpoint<Input>,
    options: StoreOptions<Shown<V, Input>>,
  ) {
    this.#functions = functions;
    this.#view = view;
    this.#endpoint = endpoint;
    this.#options = options;
    const status: Status = { error: undefined, isLoading: false, report: NO_REPORT, isComplete: () => true };
    const submit = (input?: Input, init?: RequestInit) => this.#submit(input as Input, init);
    const controls = { submit, stop: () => this.#stop(), clear: () => this.#clear() } as Controls<Input>;
    this.#first = this.#shown = { ...view.none, ...status, ...controls };
  }

  /** Sets what the next request is sent with. */
  configure(endpoint: Endpoint<Input>, options: StoreOptions<Shown<V, Input>>): void {
    this.#endpoint = endpoint;
    this.#options = options;
  }

  readonly getSnapshot = (): Shown<V, Input> => this.#shown;

  readonly getServerSnapshot = (): Shown<V, Input> => this.#first;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#isLeft = false;
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      // StrictMode and hot reloading leave and come back at once.
      queueMicrotask(() => {
        this.#isLeft = this.#listeners.size === 0;
        if (this.#isLeft) this.#stop();
      });
    };
  };

  #submit(input: Input, init: RequestInit | undefined): void {
    this.#abort();
    this.#run = { controller: new AbortController() };
    this.#isOpen = true;
    this.#show({ ...this.#first, isLoading: true });
    void this.#read(this.#run, input, init);
  }

  #stop(): void {
    const run = this.#run;
    if (!run) return;
    this.#update(run, { isLoading: false });
    this.#abort();
  }

  #clear(): void {
    this.#abort();
    this.#show(this.#first);
  }

  #abort(): void {
    const run = this.#run;
    this.#leave();
    run?.controller.abort();
  }

  /** The response is over. */
  #leave(): void {
    this.#run = undefined;
    this.#cancelFrame?.();
    this.#cancelFrame = undefined;
  }

  async #read(run: Run, input: Input, init: RequestInit | undefined): Promise<void> {
    const { init: _init, throttle: _throttle, onFinish: _onFinish, onError: _onError, ...options } = this.#options;
    const onReject = (reject: Reject | RejectedCall) => this.#options.onReject?.(reject);
    const given = init?.signal ?? this.#options.init?.signal;
    const abort = () => run.controller.abort(given!.reason);
    given?.addEventListener("abort", abort);
    if (given?.aborted) abort();
    let error: Error | undefined;
    try {
      // Effects run twice in StrictMode: a request that is submitted again at once was not sent.
      await undefined;
      if (this.#run !== run) return;
      if (this.#isLeft) return this.#stop();
      const source = readable(this.#request(run, input, init));
      source.catch(() => undefined);
      // They are loaded while the server responds.
      const { live } = await this.#functions();
      const { signal } = run.controller;
      run.stream = live(source, { ...options, onReject, list: this.#view.isList, inPlace: false, signal });
      await run.stream.follow(() => this.#schedule(run));
    } catch (thrown) {
      error = thrown instanceof Error ? thrown : new Error(String(thrown), { cause: thrown });
    }
    given?.removeEventListener("abort", abort);
    if (this.#run !== run) return;
    if (error?.name === "AbortError") return this.#stop();
    this.#update(run, { isLoading: false, error });
    // The request may have been sent all the same.
    if (error) run.controller.abort(error);
    this.#leave();
    if (error) this.#options.onError?.(error);
    else this.#options.onFinish?.(this.#shown);
  }

  async #request(run: Run, input: Input, more: RequestInit = {}): Promise<unknown> {
    const endpoint = this.#endpoint;
    const isFunction = typeof endpoint === "function";
    const init = { ...this.#options.init, ...more };
    const headers = new Headers({ accept: ACCEPT });
    if (!isFunction) {
      init.method ??= "POST";
      if (input instanceof FormData || input instanceof URLSearchParams) {
        init.body = input;
      } else if (input !== undefined) {
        init.body = JSON.stringify(input);
        headers.set("content-type", "application/json");
      }
    }
    for (const given of [this.#options.init?.headers, more.headers]) {
      new Headers(given).forEach((value, name) => headers.set(name, value));
    }
    const complete = { ...init, headers: Object.fromEntries(headers), signal: run.controller.signal };
    return isFunction ? (endpoint(input, complete) as unknown) : fetch(endpoint, complete);
  }

  #schedule(run: Run): void {
    if (this.#run !== run || this.#cancelFrame) return;
    const update = () => {
      this.#cancelFrame = undefined;
      this.#update(run);
    };
    const { throttle } = this.#options;
    this.#cancelFrame = throttle
      ? timer(update, Math.max(0, this.#shownAt + throttle - performance.now()))
      : nextFrame(update);
  }

  /** Shows what has come. */
  #update({ stream }: Run, status: Partial<Status> = {}): void {
    this.#shownAt = performance.now();
    if (!stream) return this.#show({ ...this.#shown, ...status });
    const view = this.#view.show(stream, this.#shown);
    this.#show({ ...this.#shown, ...view, report: this.#report(stream), isComplete: this.#completeness(stream), ...status });
  }

  #report(stream: LiveStream<unknown>): ReportSnapshot {
    const { report: before } = this.#shown;
    const { codes, diagnostics, ...counts } = { ...stream.report };
    if (isSame(counts, before)) return before;
    const hasFindings = counts.rejected + counts.notes > before.rejected + before.notes;
    return { ...counts, codes: { ...codes }, diagnostics: hasFindings ? diagnostics.slice() : before.diagnostics };
  }

  /** Another function whenever it may say something else. */
  #completeness(stream: LiveStream<unknown>): Status["isComplete"] {
    const wasOpen = this.#isOpen;
    this.#isOpen = stream.state === "growing";
    if (!wasOpen && !this.#isOpen) return this.#shown.isComplete;
    return (container, key) => stream.isComplete(container, key);
  }

  #show(shown: Shown<V, Input>): void {
    if (isSame(shown, this.#shown)) return;
    this.#shown = shown;
    for (const listener of this.#listeners) listener();
  }
}
