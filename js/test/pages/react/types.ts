// What the types of the hooks promise.
import * as schema from "tokenline/schema";
import { type DeepPartial, hooks, useLive, useRecords } from "tokenline/react";
import * as v from "valibot";
import * as z from "zod";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function is<_T extends true>(): void {}

const River = z.object({ name: z.string(), km: z.number() });
type River = z.infer<typeof River>;

export function Records() {
  const { records, open, error, isLoading, report, isComplete, submit, stop, clear } = useRecords("/rivers", { schema: River });
  is<Same<typeof records, readonly River[]>>();
  is<Same<typeof open, DeepPartial<River> | undefined>>();
  is<Same<typeof error, Error | undefined>>();
  is<Same<typeof isLoading, boolean>>();
  const rejected: number = report.rejected;
  submit();
  submit({ any: "thing" }, { headers: { authorization: "…" } });
  stop();
  clear();
  // @ts-expect-error: what was shown does not change.
  records.push({ name: "", km: 0 });
  return open && isComplete(open, "name") && rejected;
}

export function Functions() {
  const { submit } = useRecords((topic: string, init) => fetch(`/rivers?topic=${topic}`, init), { schema: River });
  submit("Europe");
  // @ts-expect-error: it needs a topic.
  submit();
  // @ts-expect-error: and a text.
  submit(1);
  useRecords(async (_input, { signal, headers }) => fetch("/rivers", { signal, headers: { ...headers, "x-a": "b" } })).submit();
  const { submit: maybe } = useRecords((_page: number | undefined, init) => fetch("/rivers", init));
  maybe();
  maybe(2);
  // @ts-expect-error: a component that reads in place would not be told.
  useLive("/rivers", { inPlace: true });
}

export function Other() {
  const valibot = v.object({ name: v.string() });
  is<Same<ReturnType<typeof useRecords<typeof valibot>>["records"], readonly { name: string }[]>>();
  const { records } = hooks(schema).useRecords("/rivers", { schema: { type: "object" } });
  is<Same<typeof records, readonly unknown[]>>();
  hooks(() => import("tokenline/schema")).useLive("/rivers");
  const { records: untyped } = useRecords("/rivers");
  is<Same<typeof untyped, readonly unknown[]>>();
  useRecords("/rivers", { schema: River, onFinish: ({ records }) => records[0]?.km.toFixed() });
}

export function Live() {
  const { value, state, reject } = useLive("/river", { schema: River });
  is<Same<typeof value, River | DeepPartial<River> | undefined>>();
  if (state === "complete") is<Same<typeof value, River>>();
  if (state === "rejected") return reject.message;
  return value?.name;
}
