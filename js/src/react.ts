"use client";
/**
 * `tokenline/react`: records, and values as they grow, in components. The parser is loaded with the first request, while
 * the server responds: a page that has not asked has not downloaded it.
 */
import { useInsertionEffect, useState, useSyncExternalStore } from "react";
import type { LiveState } from "./follower.js";
import {
  type Controls,
  type Endpoint,
  type Functions,
  type Shown,
  type Status,
  Store,
  type StoreOptions,
  type View,
} from "./store.js";
import type { DeepPartial, Growing, Infer, LiveOptions, RecordOptions, Reject, Schema } from "./types.js";

export { TokenlineError } from "./errors.js";
export type { LiveState } from "./follower.js";
export type { Controls, Endpoint, EndpointInit, Functions, ReportSnapshot, Status } from "./store.js";
export type * from "./types.js";

type Common = "init" | "throttle" | "onReject" | "strict" | "onError";

/** The options of {@link useRecords}. */
export interface UseRecordsOptions<S extends Schema = Schema> extends RecordOptions<S>, Pick<StoreOptions, Common> {
  /** Called once a response has ended without an error; not after `stop`. */
  onFinish?: (result: UseRecordsResult<Infer<S>, unknown, Growing<S>>) => void;
}

/** What {@link useRecords} returns. It is the same object until something changes. */
export interface UseRecordsResult<T, Input = unknown, Open = DeepPartial<T>> extends Status, Controls<Input> {
  /** The complete records. They only become more, and those that are there stay the same. */
  readonly records: readonly T[];
  /** The record that is being written, or in which the response was cut off or stopped. */
  readonly open: Open | undefined;
}

/** The options of {@link useLive}. */
export interface UseLiveOptions<S extends Schema = Schema>
  extends Omit<LiveOptions<S>, "list" | "inPlace">,
    Pick<StoreOptions, Common> {
  /** Called once a response has ended without an error; not after `stop`. */
  onFinish?: (result: UseLiveResult<Infer<S>, unknown, Growing<S>>) => void;
}

/** What {@link useLive} returns. It is the same object until something changes. */
export type UseLiveResult<T, Input = unknown, Open = DeepPartial<T>> = Status & Controls<Input> & LiveValue<T, Open>;

/** A value that grows, and where it stands. */
export type LiveValue<T, Open = DeepPartial<T>> =
  | { readonly state: "complete"; readonly value: T; readonly reject: undefined }
  | { readonly state: "rejected"; readonly value: Open | undefined; readonly reject: Reject }
  | { readonly state: "waiting" | "growing"; readonly value: Open | undefined; readonly reject: undefined };

/** The hooks over other functions than those of `tokenline/live`: see {@link hooks}. */
export interface Hooks {
  useRecords<S extends Schema = Schema, Input = unknown>(
    endpoint: Endpoint<Input>,
    options?: UseRecordsOptions<S>,
  ): UseRecordsResult<Infer<S>, Input, Growing<S>>;
  useLive<S extends Schema = Schema, Input = unknown>(
    endpoint: Endpoint<Input>,
    options?: UseLiveOptions<S>,
  ): UseLiveResult<Infer<S>, Input, Growing<S>>;
}

type Load = () => Functions | PromiseLike<Functions>;

interface RecordsView {
  records: readonly unknown[];
  open: unknown;
}

const RECORDS: View<RecordsView> = {
  isList: true,
  none: { records: [], open: undefined },
  show(stream, { records }) {
    const list = (stream.value ?? []) as unknown[];
    const count = stream.accepted;
    return {
      records: count === records.length ? records : list.slice(0, count),
      open: list.length > count ? list[count] : stream.cutOff,
    };
  },
};

interface LiveView {
  value: unknown;
  state: LiveState;
  reject: Reject | undefined;
}

const LIVE: View<LiveView> = {
  isList: false,
  none: { value: undefined, state: "waiting", reject: undefined },
  show: ({ value, state, reject }) => ({ value, state, reject }),
};

function useStore<V extends object, Input>(
  load: Load,
  view: View<V>,
  endpoint: Endpoint<Input>,
  options: StoreOptions<Shown<V, Input>>,
): Shown<V, Input> {
  const [store] = useState(() => new Store(load, view, endpoint, options));
  // Before the effects that may submit.
  useInsertionEffect(() => store.configure(endpoint, options));
  return useSyncExternalStore(store.subscribe, store.getSnapshot, store.getServerSnapshot);
}

function recordsHook(load: Load): Hooks["useRecords"] {
  return function useRecords(endpoint, options = {}) {
    return useStore(load, RECORDS, endpoint, options as StoreOptions) as never;
  };
}

function liveHook(load: Load): Hooks["useLive"] {
  return function useLive(endpoint, options = {}) {
    return useStore(load, LIVE, endpoint, options as StoreOptions) as never;
  };
}

const loadLive: Load = () => import("./live.js");

/**
 * A list that fills: the records of a response, each as soon as it is complete.
 *
 * ```tsx
 * const River = z.object({ name: z.string(), length_km: z.number() });
 *
 * function Rivers() {
 *   const { records, open, error, isLoading, submit, stop } = useRecords("/rivers", { schema: River });
 *   return (
 *     <>
 *       <button onClick={() => submit({ continent: "Europe" })}>Ask</button>
 *       {isLoading && <button onClick={stop}>Stop</button>}
 *       {records.map((river, at) => <Row key={at} river={river} />)}
 *       {open && <Row key={records.length} river={open} />}
 *       {error && <p role="alert">{error.message}</p>}
 *     </>
 *   );
 * }
 * ```
 *
 * The response is JSON Lines or what else {@link Api.records} reads, or server-sent events as the Rust crate
 * `tokenline-axum` sends them. Updates come once a frame at most; records that are there keep their identity, so that
 * `memo` spares their rows. Leaving the page aborts the request.
 */
export const useRecords: Hooks["useRecords"] = /* @__PURE__ */ recordsHook(loadLive);

/**
 * A value that grows: an object whose parts are shown as they are written.
 *
 * ```tsx
 * const { value, state, isComplete, submit } = useLive("/recipe", { schema: Recipe });
 * if (state === "complete") return <Recipe recipe={value} />;
 * return <h1>{value?.title}{value && !isComplete(value, "title") && "…"}</h1>;
 * ```
 */
export const useLive: Hooks["useLive"] = /* @__PURE__ */ liveHook(loadLive);

/**
 * The same hooks over the functions of another entry point, such as `tokenline/schema` for JSON Schemas or
 * `tokenline/providers` for an endpoint that passes on a provider's response.
 *
 * ```ts
 * export const { useRecords, useLive } = hooks(() => import("tokenline/schema")); // loaded with the first request
 * export const { useRecords, useLive } = hooks(tokenline); // import * as tokenline from "tokenline/schema"
 * export const { useRecords, useLive } = hooks(() => init("/live.wasm")); // of "tokenline/slim"
 * ```
 */
export function hooks(functions: Functions | (() => Functions | PromiseLike<Functions>)): Hooks {
  let loaded: Functions | PromiseLike<Functions> | undefined;
  const load: Load =
    typeof functions !== "function"
      ? () => functions
      : async () => {
          try {
            return await (loaded ??= functions());
          } catch (error) {
            // The next request tries again.
            loaded = undefined;
            throw error;
          }
        };
  return { useRecords: recordsHook(load), useLive: liveHook(load) };
}
